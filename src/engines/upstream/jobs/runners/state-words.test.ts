import { expect, it } from 'vitest';
import { readState } from './state-words.ts';

it.each([
  ['COMPLETED', 'succeeded'],
  ['SuccessCriteriaMet Complete', 'succeeded'],
  ['SUCCEEDED\n', 'succeeded'],
  ['FAILED', 'failed'],
  ['CANCELLED by 1000', 'failed'],
  ['FailureTarget Failed', 'failed'],
  ['OUT_OF_MEMORY', 'failed'],
  ['', 'running'],
  ['PENDING', 'running'],
  ['RUNNING', 'running'],
  ['COMPLETING', 'running'],
  ['Suspended', 'running'],
])('%j is %s', (output, state) => {
  expect(readState(output).state).toBe(state);
});
