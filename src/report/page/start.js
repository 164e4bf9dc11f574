/* start.js - the page of a report. */

begin([drawBars, drawGpus, drawLatency, drawTimeline, drawFlame, drawTables, makeKeys]);
