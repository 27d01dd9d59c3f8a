import { beforeEach, describe, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '../../test/support/manual-clock.ts';
import { createLogWriter } from './log-writer.ts';

const errorOf = (code: string) => Object.assign(new Error(code), { code });

/** A file whose writes end as the test says, at once unless they are held. */
function createFile() {
  const file = {
    written: '',
    /** Error code of the next writes. */
    fault: undefined as string | undefined,
    /** Most bytes accepted by a write. */
    room: Infinity,
    writes: 0,
    held: undefined as (() => void)[] | undefined,
    paused: 0,
    pause(ms: number) {
      file.paused += ms;
    },
    writeSync(_: number, bytes: Buffer): number {
      file.writes++;
      if (file.fault !== undefined) throw errorOf(file.fault);
      const taken = bytes.subarray(0, file.room);
      file.written += taken.toString();
      return taken.length;
    },
    write(fd: number, bytes: Buffer, done: (error: Error | null, written: number) => void) {
      const end = () => {
        let written = 0;
        try {
          written = file.writeSync(fd, bytes);
        } catch (error) {
          return done(error as Error, 0);
        }
        done(null, written);
      };
      if (file.held) file.held.push(end);
      else end();
    },
  };
  return file;
}

let clock: ManualClock;
let file: ReturnType<typeof createFile>;
let lost: number[];
let finished: number;
let writer: ReturnType<typeof createLogWriter>;
const line = (text: string) => writer.write(`${text}\n`);

beforeEach(() => {
  clock = createManualClock();
  file = createFile();
  lost = [];
  finished = 0;
  writer = createLogWriter({
    fd: 2,
    clock,
    finish: (lines) => {
      if (lines !== '') finished++;
      return lines.replaceAll('secret', '');
    },
    system: file,
    onLost: (lines) => void lost.push(lines),
  });
});

describe('the log writer', () => {
  it('writes lines together, a moment after the first', async () => {
    line('a');
    line('b');
    expect(file.written).toBe('');
    await clock.advance(100);
    expect([file.written, file.writes, clock.pending]).toEqual(['a\nb\n', 1, 0]);
  });

  it('formats lines in groups, and each line once', async () => {
    file.room = 3;
    line('a secret');
    line('another secret');
    expect(finished).toBe(0);
    await clock.advance(1_000);
    expect([file.written, finished]).toEqual(['a \nanother \n', 1]);
  });

  it('writes a full group at once, without blocking callers', async () => {
    file.held = [];
    line('a'.repeat(20_000));
    expect(file.held).toHaveLength(1);
    line('b'.repeat(20_000));
    expect(file.held).toHaveLength(1);
    file.held[0]!();
    expect([file.written.length, file.held.length]).toEqual([20_001, 2]);
  });

  it.each([undefined, 'ENOSPC'])(
    'writes what came during a slow write that ends with %s, a moment later or when that is over',
    async (fault) => {
      file.held = [];
      line('a');
      await clock.advance(100);
      line('b');
      await clock.advance(5_000);
      file.fault = fault;
      const [end] = file.held;
      file.held = undefined;
      end!();
      file.fault = undefined;
      await clock.advance(1_000);
      expect([file.written, clock.pending]).toEqual(['a\nb\n', 0]);
    },
  );

  it('writes the rest after a partial write', async () => {
    file.room = 3;
    line('abcdefgh');
    await clock.advance(1_000);
    expect(file.written).toBe('abcdefgh\n');
  });

  it.each(['ENOSPC', 'EPIPE', 'EAGAIN'])(
    'keeps lines through %s, and writes them when that is over',
    async (fault) => {
      file.fault = fault;
      line('a');
      await clock.advance(100);
      line('b');
      line('c'.repeat(20_000));
      await clock.advance(10_000);
      // Not once per line.
      expect([file.written, file.writes]).toEqual(['', 11]);
      file.fault = undefined;
      await clock.advance(1_000);
      expect(file.written).toBe(`a\nb\n${'c'.repeat(20_000)}\n`);
      expect([lost, clock.pending]).toEqual([[], 0]);
    },
  );

  it('drops the newest lines of a full queue, and reports their number once writes succeed', async () => {
    file.fault = 'ENOSPC';
    for (let n = 0; n < 50; n++) line('x'.repeat(99_999));
    await clock.advance(5_000);
    expect(lost).toEqual([]);
    file.fault = undefined;
    await clock.advance(1_000);
    expect([file.written.length, lost]).toEqual([4_000_000, [10]]);
  });

  it('writes all waiting lines on flush', () => {
    file.room = 2;
    line('abc');
    writer.flush();
    expect([file.written, clock.pending]).toEqual(['abc\n', 0]);
  });

  it.each(['ENOSPC', 'EPIPE', 'EAGAIN'])(
    'gives up to write all that waits at %s, and keeps it',
    async (fault) => {
      file.fault = fault;
      line('abc');
      writer.flush();
      file.fault = undefined;
      await clock.advance(100);
      expect([file.written, clock.pending]).toEqual(['abc\n', 0]);
    },
  );
});
