import { followedChanges } from './support/live-changes.ts';
import { type Frame, recordFrames } from './support/frames.ts';
import { batches, openLiveList, startWatched } from './support/live-list.ts';
import { jump } from './support/jumps.ts';
import { percentile, median, type Report, type Workload } from './support/report.ts';

const seconds = 20;
const rounds = 2;

/** Live screens of the console in Chromium: a list that changes, and a long list in which the reader jumps. */
export const consoleScreens: Workload = {
  name: 'console',
  about: `The console in Chromium: the list of ${batches} batches of 125 orgs, of each of which one changes about every second, and jumps in the list of 10,000 lines.`,

  async run(): Promise<Report> {
    const watched = await startWatched();
    if ('reason' in watched) return { figures: [], notes: [`Not run: ${watched.reason}`] };
    try {
      const jumps = await jump(watched);
      await openLiveList(watched, 4 * seconds);
      const measured: { frames: Frame[]; perSecond: number }[] = [];
      for (let round = 0; round < rounds; round++) {
        const changes = followedChanges(watched);
        const frames = await recordFrames(watched.browser, watched.page, () =>
          watched.page.waitForTimeout(1_000 * seconds),
        );
        measured.push({ frames, perSecond: (await changes.stop()) / seconds });
      }
      const of = (figure: (round: (typeof measured)[number]) => number) => median(measured.map(figure));
      return {
        figures: [
          { name: 'changes per second', value: of(({ perSecond }) => perSecond), atLeast: 100 },
          {
            name: 'scripting of a frame, p95',
            value: of(({ frames }) =>
              percentile(
                frames.map(({ wallMs }) => wallMs),
                95,
              ),
            ),
            unit: 'ms',
            atMost: 16,
          },
          {
            name: 'CPU of scripting of a frame, p95',
            value: of(({ frames }) =>
              percentile(
                frames.map(({ cpuMs }) => cpuMs),
                95,
              ),
            ),
            unit: 'ms',
          },
          {
            name: 'scripting of a frame, at most',
            value: of(({ frames }) => Math.max(...frames.map(({ wallMs }) => wallMs))),
            unit: 'ms',
          },
          {
            name: 'scripting of a second',
            value: of(({ frames }) => frames.reduce((sum, { wallMs }) => sum + wallMs, 0) / seconds),
            unit: 'ms',
          },
          { name: 'blank rows after a jump, median', value: median(jumps), unit: 'ms' },
          { name: 'blank rows after a jump, at most', value: Math.max(...jumps), unit: 'ms', atMost: 100 },
        ],
        notes: [
          `${rounds} rounds of ${seconds} s, medians; frames in which a script ran. ${jumps.length} jumps.`,
        ],
      };
    } finally {
      await watched.stop();
    }
  },
};
