/* letters.js - texts on a canvas that stay in their room.  Widths are remembered by font: measuring is slow. */

var widths = new Map(), WIDTHS_MOST = 20000, FEW_LETTERS = 2;

/* The font of a canvas, with what is known of its letters. */
function useFont(context, font) {
	context.font = font;
	context.letters = widths.get(font);
	if (!context.letters)
		widths.set(font, (context.letters = new Map()));
}

function widthOf(context, text) {
	var known = context.letters, w = known.get(text);
	if (w === undefined) {
		if (known.size > WIDTHS_MOST)
			known.clear();
		known.set(text, (w = context.measureText(text).width));
	}
	return w;
}

/* As much of a text as fits, with an ellipsis where it is cut; nothing when that is next to nothing. */
function fit(context, text, room) {
	text = shown(text);
	if (widthOf(context, text) <= room)
		return text;
	for (var n = 0, left = room - widthOf(context, "\u2026"); n < text.length; n++) {
		left -= widthOf(context, text[n]);
		if (left < 0)
			break;
	}
	return n < FEW_LETTERS ? "" : text.slice(0, n) + "\u2026";
}
