/**
 * A request may kill the process that runs it (batch-engine.md, "Poison"). A chunk whose owners died this often is taken
 * apart into single lines, of which few run at a time.
 */
export const suspectKills = 2;

/**
 * A line that is given up: as a suspect it was running at two more deaths, the last time alone. One would do if only poison
 * killed processes, but operators do too, and an innocent line that was unlucky three times must not be lost.
 */
export const poisonKills = 4;

/**
 * How long a process has lived before it runs such a line alone for the last time. Where processes are killed one after the
 * other for whatever other reason, none of them comes to that; one that lived so long and then dies tells against the line.
 */
export const settledMs = 60_000;
