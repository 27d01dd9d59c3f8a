import type { Clock, Timer } from '../../../base/clock.ts';
import { ApiError, unavailable } from '../../../core/errors.ts';
import type { Transport } from './transport.ts';

/** Checks within `idleMs`, and checks without a sign of life that show a hang: the last sign fell between two checks. */
const checksPerIdle = 10;
const maxQuietChecks = 8;
/** First quiet check that sends a probe, because probes cost the server work; its counters are read at every quiet check. */
const probeFrom = 4;

export interface HangWatchDeps {
  /** Resolves true if a counter of the server changed since the last call, false at the `first`, null if it shows none. */
  countersMoved?: ((first: boolean) => Promise<boolean | null>) | undefined;
  /** Sends a request that only a working server answers, and resolves with the answer. */
  sendProbe: (signal: AbortSignal) => Promise<unknown>;
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
export function createHangWatch({ clock, idleMs, work, countersMoved, sendProbe }: HangWatchDeps) {
  let timer: Timer | undefined;
  let signs = 0;
  let quietChecks = 0;
  let isHung = false;
  let isReadingCounters = false;
  let probing: AbortController | undefined;

  function markAlive(): void {
    quietChecks = 0;
    isHung = false;
    stopProbing();
  }

  function stopProbing(): void {
    probing?.abort();
    probing = undefined;
  }

  async function probe(): Promise<void> {
    if (probing) return;
    const ownProbe = (probing = new AbortController());
    const isAnswered = await sendProbe(ownProbe.signal).then(
      () => true,
      () => false,
    );
    if (probing !== ownProbe) return;
    probing = undefined;
    if (isAnswered) markAlive();
  }

  /** Reads the server's counters, or sends a probe where it has none. */
  async function lookForSign(): Promise<void> {
    let hasMoved: boolean | null = null;
    if (countersMoved && !isHung) {
      if (isReadingCounters) return;
      isReadingCounters = true;
      hasMoved = await countersMoved(quietChecks === 1).catch(() => false);
      isReadingCounters = false;
    }
    if (hasMoved) quietChecks = 0;
    else if (hasMoved === null && quietChecks >= probeFrom) await probe();
  }

  function giveUp(): void {
    isHung = true;
    quietChecks = probeFrom;
    stopProbing();
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
    if (quietChecks > 0) void lookForSign();
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
