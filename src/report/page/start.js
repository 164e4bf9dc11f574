/* start.js - the page of a report. */

begin([drawHero, drawBars, drawGpus, drawLatency, drawTimeline, drawFlame, drawTables, makeKeys]);
