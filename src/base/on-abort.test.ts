import { expect, it, vi } from 'vitest';
import { onAbort } from './on-abort.ts';

it('calls every remaining function once, with one listener', () => {
  const controller = new AbortController();
  const { signal } = controller;
  const listen = vi.spyOn(signal, 'addEventListener');
  const called: string[] = [];
  const leave = onAbort(signal, () => called.push('gone'));
  const leaveFirst = onAbort(signal, () => {
    called.push('first');
    leaveFirst();
  });
  onAbort(signal, () => called.push('second'));
  leave();
  controller.abort();
  expect(called.toSorted()).toEqual(['first', 'second']);
  expect(listen).toHaveBeenCalledTimes(1);
});
