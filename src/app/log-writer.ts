import { write, writeSync } from 'node:fs';
import type { Clock, Timer } from '../base/clock.ts';

/** Lines wait for each other: for so many bytes, or so long. */
const groupBytes = 15_000;
const groupMs = 100;
/** Before what could not be written is tried again. */
const retryMs = 1_000;
/** What waits while nothing can be written. */
const mostBytes = 4_000_000;
/** How often, and after which pauses, `flush` asks a reader again that takes nothing at the moment. */
const flushTries = 20;
const flushPauseMs = 50;

export interface LogWriterDeps {
  /** The file descriptor: a file, a pipe or a terminal. */
  fd: number;
  clock: Clock;
  /** Hears how many lines were lost, once others can be written again. */
  onLost: (lines: number) => void;
  system?: System;
}

interface System {
  write(fd: number, bytes: Buffer, done: (error: Error | null, written: number) => void): void;
  writeSync(fd: number, bytes: Buffer): number;
  /** Holds the whole thread. */
  pause(ms: number): void;
}

const system: System = {
  write,
  writeSync,
  pause: (ms) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
};

/**
 * Lines of the log on their way out, for which nobody waits. Where they cannot be written, because the disk is full or their
 * reader has gone, the newest are lost, and the server goes on.
 */
export interface LogWriter {
  write(line: Buffer): void;
  /** Writes what waits before it returns; what cannot be written within a second stays. */
  flush(): void;
}

export function createLogWriter(deps: LogWriterDeps): LogWriter {
  const { fd, clock, onLost, system: files = system } = deps;
  let waiting: Buffer[] = [];
  let bytes = 0;
  let lost = 0;
  let timer: Timer | undefined;
  let isWriting = false;
  let fails = false;

  function take(): Buffer {
    timer?.cancel();
    timer = undefined;
    const all = Buffer.concat(waiting);
    waiting = [];
    bytes = 0;
    return all;
  }

  function keep(rest: Buffer): void {
    if (rest.length === 0) return;
    waiting.unshift(rest);
    bytes += rest.length;
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
      if (!fails) tellLost();
    });
  }

  function schedule(): void {
    if (!fails && bytes >= groupBytes) writeLater();
    else timer ??= clock.after(fails ? retryMs : groupMs, writeLater);
  }

  function tellLost(): void {
    const lines = lost;
    lost = 0;
    if (lines > 0) onLost(lines);
  }

  return {
    write(line) {
      if (bytes + line.length > mostBytes) return void lost++;
      waiting.push(line);
      bytes += line.length;
      schedule();
    },

    flush() {
      let rest = take();
      for (let tries = 0; rest.length > 0 && tries < flushTries;) {
        try {
          rest = rest.subarray(files.writeSync(fd, rest));
        } catch (error) {
          // A pipe that is full is read a moment later; of a full disk, or without a reader, nobody can tell.
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') break;
          tries++;
          files.pause(flushPauseMs);
        }
      }
      keep(rest);
      if (rest.length > 0) schedule();
    },
  };
}
