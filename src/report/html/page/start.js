/* start.js - the page of a report. */

begin([
	drawHero, drawBars, drawGpus, drawLatency, drawUnits, drawTimeline, drawPhases, drawFlame, drawTables, makeKeys
]);
