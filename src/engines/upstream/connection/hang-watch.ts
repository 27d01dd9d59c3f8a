import type { Clock, Timer } from '../../../base/clock.ts';
import { ApiError, unavailable } from '../../../core/errors.ts';
import type { Transport } from './transport.ts';

/** Checks within `idleMs`, and checks without a sign of life that show a hang: the last sign fell between two checks. */
const checksPerIdle = 10;
const maxQuietChecks = 8;
/** First quiet check that sends requests which cost the server work; its counters are read at each. */
const askFrom = 4;

export interface HangWatchDeps {
  /** Resolves true if a counter of the server moved since the last time, false at the `first`, null if it shows none. */
  moved?: ((first: boolean) => Promise<boolean | null>) | undefined;
  /** Resolves when the server answers a request that only a working server answers. */
  answers: (signal: AbortSignal) => Promise<unknown>;
  clock: Clock;
  /** Longest silence of a server that hangs, in milliseconds; 0 disables the watch. */
  idleMs: number;
  /** Transport of the calls; undefined when the engine is stopped. */
  work: () => Pick<Transport, 'waiting' | 'signs' | 'giveUp'> | undefined;
}

export type HangWatch = ReturnType<typeof createHangWatch>;

/**
 * Detects a server that hangs. A working call may be silent for an hour, so the server is watched instead: while no byte of
 * any answer arrives and calls wait for their first one, it must show a sign of life. Otherwise all waiting calls fail. Time is
 * counted in checks, because the machine may have slept between two of them.
 */
export function createHangWatch({ clock, idleMs, work, moved, answers }: HangWatchDeps) {
  let timer: Timer | undefined;
  let signs = 0;
  let quietChecks = 0;
  let isHung = false;
  let isReading = false;
  let asking: AbortController | undefined;

  function markAlive(): void {
    quietChecks = 0;
    isHung = false;
    stopAsking();
  }

  function stopAsking(): void {
    asking?.abort();
    asking = undefined;
  }

  async function ask(): Promise<void> {
    if (asking) return;
    const asked = (asking = new AbortController());
    const isAnswered = await answers(asked.signal).then(
      () => true,
      () => false,
    );
    if (asking !== asked) return;
    asking = undefined;
    if (isAnswered) markAlive();
  }

  /** Reads the server's counters, or sends it a request where it has none. */
  async function findSign(): Promise<void> {
    let hasMoved: boolean | null = null;
    if (moved && !isHung) {
      if (isReading) return;
      isReading = true;
      hasMoved = await moved(quietChecks === 1).catch(() => false);
      isReading = false;
    }
    if (hasMoved) quietChecks = 0;
    else if (hasMoved === null && quietChecks >= askFrom) await ask();
  }

  function giveUp(): void {
    isHung = true;
    quietChecks = askFrom;
    stopAsking();
    work()?.giveUp(hung());
  }

  function check(): void {
    timer = undefined;
    const calls = work();
    if (!calls || (calls.waiting === 0 && !isHung)) return void (quietChecks = 0);
    if (calls.signs !== signs) {
      signs = calls.signs;
      markAlive();
    } else quietChecks++;
    if (quietChecks >= maxQuietChecks) giveUp();
    if (quietChecks > 0) void findSign();
    schedule();
  }

  function schedule(): void {
    if (idleMs > 0) timer ??= clock.after(idleMs / checksPerIdle, check);
  }

  return {
    /** Starts watching for a new call. @throws ApiError while the server hangs, until it shows that it works */
    begin() {
      if (isHung) throw hung();
      schedule();
    },
    stop() {
      timer?.cancel();
      timer = undefined;
      markAlive();
    },
  };
}

/** Error of calls to a server that hangs: certainly its fault, because no byte of an answer had arrived. */
function hung(): ApiError {
  const message = "The model's server has stopped responding and appears to hang.";
  return new ApiError('upstream_timeout', message, { blame: unavailable });
}
