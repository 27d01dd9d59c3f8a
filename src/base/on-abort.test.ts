import { expect, it, vi } from 'vitest';
import { onAbort } from './on-abort.ts';

it('calls all that wait, once, but not those that were taken off, and adds one listener', () => {
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
  expect(called).toEqual(['first', 'second']);
  expect(listen).toHaveBeenCalledTimes(1);
});

it('holds nothing of what was taken off, not even in what V8 leaves behind of a set that it made anew', () => {
  const removed = vi.spyOn(Set.prototype, 'delete');
  onAbort(new AbortController().signal, () => {})();
  expect(removed.mock.calls).toEqual([[{ fn: null }]]);
  removed.mockRestore();
});
