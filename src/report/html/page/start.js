/* start.js - the page of a report. */

begin([drawHero, drawBars, drawGpus, drawLatency, drawUnits, drawTimeline, drawFlame, drawTables, makeKeys]);
