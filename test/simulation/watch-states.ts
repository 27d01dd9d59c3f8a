import { ClaimedChunks } from '../../src/batches/claimed/claimed-chunks.ts';
import type { World } from './world.ts';

/**
 * Watches the lines that the processes of a world have claimed: recounts the states of a chunk's lines after each event. What cannot
 * happen in a state throws by itself.
 * @returns the transitions that have happened, as `sent: answer`
 */
export function watchStates(world: World): Set<string> {
  const seen = new Set<string>();
  world.replaceMethod(
    ClaimedChunks.prototype,
    'moveLine',
    (original) =>
      function (this: ClaimedChunks, line, event) {
        seen.add(`${line.state}: ${event}`);
        original.call(this, line, event);
        const { lines, count } = line.claimed;
        for (const [state, counted] of Object.entries(count))
          if (lines.filter((each) => each.state === state).length !== counted)
            world.observer.fail(`a chunk counts ${counted} lines as ${state}`);
      },
  );
  return seen;
}
