import { expect, it, vi } from 'vitest';
import { offAbort, onAbort } from './on-abort.ts';

it('calls all that wait, once, but not those that were taken off, and adds one listener', () => {
  const controller = new AbortController();
  const { signal } = controller;
  const listen = vi.spyOn(signal, 'addEventListener');
  const called: string[] = [];
  const gone = () => called.push('gone');
  const first = () => {
    called.push('first');
    offAbort(signal, first);
  };
  onAbort(signal, gone);
  onAbort(signal, first);
  onAbort(signal, () => called.push('second'));
  offAbort(signal, gone);
  controller.abort();
  expect(called).toEqual(['first', 'second']);
  expect(listen).toHaveBeenCalledTimes(1);
});
