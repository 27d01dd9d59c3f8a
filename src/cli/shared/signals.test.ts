import { expect, it } from 'vitest';
import { CliError } from './exit-codes.ts';
import { interruptible } from './signals.ts';

const interruptedAtItsEnd = async (stopped: CliError | undefined) => {
  let interrupt = () => {};
  const onInterrupt = (handle: () => void) => {
    interrupt = handle;
    return () => {};
  };
  return interruptible({ onInterrupt }, stopped, async () => {
    interrupt();
    return 'done';
  });
};

it('ends a command also where Ctrl-C comes when its work is done', async () => {
  const stopped = new CliError('Stopped.');
  await expect(interruptedAtItsEnd(stopped)).rejects.toBe(stopped);
});

it('lets work that Ctrl-C only shortens tell what it has', async () => {
  expect(await interruptedAtItsEnd(undefined)).toBe('done');
});
