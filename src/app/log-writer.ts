import { write, writeSync } from 'node:fs';
import type { Clock, Timer } from '../base/clock.ts';

/** Lines wait for each other: for so many bytes, or so long. (Of lines that wait the characters are counted.) */
const groupBytes = 15_000;
const groupMs = 100;
/** Before what could not be written is tried again. */
const retryMs = 1_000;
/** What waits while nothing can be written. */
const maxWaitingBytes = 4_000_000;
/** How often, and after which pauses, `flush` asks a reader again that takes nothing at the moment. */
const flushTries = 20;
const flushPauseMs = 50;

export interface LogWriterDeps {
  /** The file descriptor: a file, a pipe or a terminal. */
  fd: number;
  clock: Clock;
  /** What is written of lines, which it is given together: that costs little more than of one. */
  finish: (lines: string) => string;
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
  /** @param line with its end */
  write(line: string): void;
  /** Writes what waits before it returns; what cannot be written within a second stays. */
  flush(): void;
}

export function createLogWriter(deps: LogWriterDeps): LogWriter {
  const { fd, clock, finish, onLost, system: files = system } = deps;
  let waiting: string[] = [];
  /** What could not be written of those before. */
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
      if (!fails) tellLost();
    });
  }

  function ring(): void {
    // Also where a write is under way, after which what still waits is given its own time.
    timer = undefined;
    writeLater();
  }

  function schedule(): void {
    if (!fails && bytes >= groupBytes) writeLater();
    else timer ??= clock.after(fails ? retryMs : groupMs, ring);
  }

  function tellLost(): void {
    const lines = lost;
    lost = 0;
    if (lines > 0) onLost(lines);
  }

  return {
    write(line) {
      if (bytes + line.length > maxWaitingBytes) return void lost++;
      waiting.push(line);
      bytes += line.length;
      schedule();
    },

    flush() {
      let left = take();
      for (let tries = 0; left.length > 0 && tries < flushTries;) {
        try {
          left = left.subarray(files.writeSync(fd, left));
        } catch (error) {
          // A pipe that is full is read a moment later; of a full disk, or without a reader, nobody can tell.
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
