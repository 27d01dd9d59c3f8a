// Figures of a measured process, requested by its parent over IPC.
import type { ChildProcess } from 'node:child_process';
import { monitorEventLoopDelay } from 'node:perf_hooks';

export interface Figures {
  /** CPU time of all threads since the process started, in microseconds. */
  cpuUs: number;
  /** Resident memory in bytes: current, and peak since the last reset. */
  rss: number;
  peakRss: number;
  /** Event loop delay since the last reset, in milliseconds. */
  loopP50: number;
  loopP99: number;
  loopMax: number;
  /**
   * Maximum CPU of the main thread between two samples since the last reset, in milliseconds: an upper bound of the
   * event loop delay on a core of its own.
   */
  longestTurn: number;
}

const sampleMs = 10;
// Reading the resident size takes 0.25 ms.
const memoryEveryMs = 100;

/** Answers `figures` and `reset` in this process. */
export function answerFigures(): void {
  const delay = monitorEventLoopDelay({ resolution: sampleMs });
  delay.enable();
  let peakRss = 0;
  setInterval(() => (peakRss = Math.max(peakRss, process.memoryUsage.rss())), memoryEveryMs).unref();
  let turnBegan = process.threadCpuUsage();
  let longestTurn = 0;
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(turnBegan);
    longestTurn = Math.max(longestTurn, (user + system) / 1000);
    turnBegan = process.threadCpuUsage();
  }, sampleMs).unref();
  process.on('message', (message) => {
    if (message !== 'reset' && message !== 'figures') return;
    if (message === 'reset') {
      delay.reset();
      longestTurn = 0;
      peakRss = process.memoryUsage.rss();
    }
    peakRss = Math.max(peakRss, process.memoryUsage.rss());
    const { user, system } = process.cpuUsage();
    const late = (ns: number) => Math.max(0, ns / 1e6 - sampleMs);
    const figures: Figures = {
      cpuUs: user + system,
      rss: process.memoryUsage.rss(),
      peakRss,
      loopP50: late(delay.percentile(50)),
      loopP99: late(delay.percentile(99)),
      loopMax: late(delay.max),
      longestTurn,
    };
    process.send?.(figures);
  });
}

/** Requests the figures of a child. `reset` starts a new interval for the peaks. */
export function readFigures(
  child: ChildProcess,
  question: 'figures' | 'reset' = 'figures',
): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('the measured process ended'));
    child.once('exit', gone);
    child.once('message', (message) => {
      child.off('exit', gone);
      resolve(message as Figures);
    });
    child.send(question);
  });
}
