import { write, writeSync } from 'node:fs';
import type { Clock, Timer } from '../base/clock.ts';

/** Size and age at which a group of lines is written. Characters of waiting lines count as bytes. */
const groupBytes = 15_000;
const groupMs = 100;
/** Pause before a failed write is repeated. */
const retryMs = 1_000;
/** Maximum bytes that wait while writes fail; later lines are lost. */
const maxWaitingBytes = 4_000_000;
/** Attempts of `flush` on a full pipe, and the pause between them. */
const flushTries = 20;
const flushPauseMs = 50;

export interface LogWriterDeps {
  /** The file descriptor: a file, a pipe or a terminal. */
  fd: number;
  clock: Clock;
  /** Formats a group of lines, which costs little more than one line. */
  finish: (lines: string) => string;
  /** Called with the number of lost lines once writes succeed again. */
  onLost: (lines: number) => void;
  system?: System;
}

interface System {
  write(fd: number, bytes: Buffer, done: (error: Error | null, written: number) => void): void;
  writeSync(fd: number, bytes: Buffer): number;
  /** Blocks the thread. */
  pause(ms: number): void;
}

const system: System = {
  write,
  writeSync,
  pause: (ms) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
};

/**
 * Writes log lines in the background, in groups. While writes fail (full disk, closed pipe) it drops the newest lines, and the server
 * continues.
 */
export function createLogWriter(deps: LogWriterDeps) {
  const { fd, clock, finish, onLost, system: files = system } = deps;
  let waiting: string[] = [];
  /** Bytes of earlier groups that are not yet written. */
  let rest: Buffer = Buffer.alloc(0);
  let bytes = 0;
  let lost = 0;
  let timer: Timer | undefined;
  let isWriting = false;
  let fails = false;

  function take(): Buffer {
    timer?.cancel();
    timer = undefined;
    const all = Buffer.concat([rest, Buffer.from(finish(waiting.join('')))]);
    waiting = [];
    rest = Buffer.alloc(0);
    bytes = 0;
    return all;
  }

  function keep(unwritten: Buffer): void {
    if (unwritten.length === 0) return;
    rest = Buffer.concat([unwritten, rest]);
    bytes += unwritten.length;
  }

  function writeLater(): void {
    if (isWriting || bytes === 0) return;
    isWriting = true;
    const group = take();
    files.write(fd, group, (error, written) => {
      isWriting = false;
      fails = error !== null;
      keep(group.subarray(fails ? 0 : written));
      if (bytes > 0) schedule();
      if (!fails) reportLost();
    });
  }

  function writeAfterDelay(): void {
    // Clears the timer even during a write, so that lines which arrive meanwhile get one of their own.
    timer = undefined;
    writeLater();
  }

  function schedule(): void {
    if (!fails && bytes >= groupBytes) writeLater();
    else timer ??= clock.after(fails ? retryMs : groupMs, writeAfterDelay);
  }

  function reportLost(): void {
    const lines = lost;
    lost = 0;
    if (lines > 0) onLost(lines);
  }

  return {
    /** @param line ends with a line feed */
    write(line: string): void {
      if (bytes + line.length > maxWaitingBytes) return void lost++;
      waiting.push(line);
      bytes += line.length;
      schedule();
    },

    /** Writes the waiting lines synchronously, for up to a second. */
    flush(): void {
      let left = take();
      for (let tries = 0; left.length > 0 && tries < flushTries;) {
        try {
          left = left.subarray(files.writeSync(fd, left));
        } catch (error) {
          // A full pipe may be read in a moment. A full disk or a closed pipe is hopeless.
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') break;
          tries++;
          files.pause(flushPauseMs);
        }
      }
      keep(left);
      if (left.length > 0) schedule();
    },
  };
}
