import { expect, it, vi } from 'vitest';
import { abortedWith, onAbort } from './on-abort.ts';

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

it('aborts a controller with its signal, until that is forgotten', () => {
  const parent = new AbortController();
  const [followed, forgotten] = [abortedWith(parent.signal), abortedWith(parent.signal)];
  forgotten.forget();
  parent.abort('over');
  expect(followed.controller.signal.reason).toBe('over');
  expect(forgotten.controller.signal.aborted).toBe(false);
});
