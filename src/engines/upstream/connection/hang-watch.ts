import type { Clock, Timer } from '../../../base/clock.ts';
import { ApiError, unavailable } from '../../../core/errors.ts';
import type { Transport } from './transport.ts';

/** Looks in `idle`, and how many of them without a sign of life are a hang: the last sign was somewhere between two others. */
const looks = 10;
const mostQuiet = 8;
/** From this look on it is asked by what costs it work; what it shows by itself is read at each. */
const askFrom = 4;

export interface HangWatchDeps {
  /** Whether something moved at the server since the last time, false at the `first`; null where it shows nothing of that. */
  moved?: ((first: boolean) => Promise<boolean | null>) | undefined;
  /** Resolves when it answers what only one that works can; rejects where it does not answer. */
  answers: (signal: AbortSignal) => Promise<unknown>;
  clock: Clock;
  /** A silence of this many milliseconds is looked into, and is the longest of a server that hangs. */
  idleMs: number;
  /** Where the calls are; undefined when the engine is stopped. */
  work: () => Pick<Transport, 'waiting' | 'signs' | 'giveUp'> | undefined;
}

export type HangWatch = ReturnType<typeof createHangWatch>;

/**
 * A call may be silent for as long as it is worked on, for an hour perhaps. So it is the server that is watched: while no byte
 * of any answer comes and calls wait for the first of theirs, it is asked whether it works. Where it gives no sign of that
 * either, all that wait are given up. Time is counted in looks, since the machine may have slept between two of them.
 */
export function createHangWatch({ clock, idleMs, work, moved, answers }: HangWatchDeps) {
  let timer: Timer | undefined;
  let seen = 0;
  let quiet = 0;
  let isHung = false;
  let reading = false;
  let asking: AbortController | undefined;

  function alive(): void {
    quiet = 0;
    isHung = false;
    forget();
  }

  function forget(): void {
    asking?.abort();
    asking = undefined;
  }

  async function ask(): Promise<void> {
    if (asking) return;
    const asked = (asking = new AbortController());
    const answered = await answers(asked.signal).then(
      () => true,
      () => false,
    );
    if (asking !== asked) return;
    asking = undefined;
    if (answered) alive();
  }

  /** Reads what it shows; who shows nothing is asked. */
  async function read(): Promise<void> {
    let has: boolean | null = null;
    if (moved && !isHung) {
      if (reading) return;
      reading = true;
      has = await moved(quiet === 1).catch(() => false);
      reading = false;
    }
    if (has) quiet = 0;
    else if (has === null && quiet >= askFrom) await ask();
  }

  function giveUp(): void {
    isHung = true;
    quiet = askFrom;
    forget();
    work()?.giveUp(hung());
  }

  function look(): void {
    timer = undefined;
    const calls = work();
    if (!calls || (calls.waiting === 0 && !isHung)) return void (quiet = 0);
    if (calls.signs !== seen) {
      seen = calls.signs;
      alive();
    } else quiet++;
    if (quiet >= mostQuiet) giveUp();
    if (quiet > 0) void read();
    again();
  }

  function again(): void {
    if (idleMs > 0) timer ??= clock.after(idleMs / looks, look);
  }

  return {
    /**
     * There is a call.
     * @throws ApiError while the server hangs: it gets none until it answers the question whether it works
     */
    begin() {
      if (isHung) throw hung();
      again();
    },
    stop() {
      timer?.cancel();
      timer = undefined;
      alive();
    },
  };
}

/** The server's for certain: nothing of an answer had come, and none would. */
function hung(): ApiError {
  const told = "The model's server answers nothing any more, and is taken to hang.";
  return new ApiError('upstream_timeout', told, { blame: unavailable });
}
