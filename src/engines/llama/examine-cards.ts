import type { Clock } from '../../base/clock.ts';
import type { CardChoice } from '../../core/card.ts';
import type { Spawn } from './child-process.ts';
import { reasonFrom } from './gpu/explain-failure.ts';
import type { ExamineCards } from './gpu/find-cards.ts';

/** A driver may compile the code of the build for its card at the first use. */
const limitMs = 300_000;

/** Examines cards in a child process. */
export function cardExaminer(spawn: Spawn, clock: Clock): ExamineCards {
  return (kind, folder) =>
    new Promise<CardChoice>((resolve) => {
      const child = spawn({
        onMessage(message) {
          if (message.type !== 'examined') return;
          resolve(message.choice);
          child.kill();
        },
        onExit(how, output) {
          timer.cancel();
          const isKnown = /unsupported toolchain/.test(output);
          const last = output === '' ? '' : `: ${output.split('\n').at(-1)}`;
          const why = isKnown ? reasonFrom(kind, [output]) : `the process that tried the card ${how}${last}`;
          resolve({ found: null, why });
        },
      });
      const timer = clock.after(limitMs, () => {
        resolve({ found: null, why: `its driver did not answer in ${limitMs / 1000} seconds` });
        child.kill();
      });
      child.send({ type: 'examine', kind, folder });
    });
}
