import { expect, it } from 'vitest';
import type { PriorityClass } from '../sql/priority-classes.ts';
import { CallQueue } from './call-queue.ts';

interface Call {
  name: string;
  args: unknown[];
}

function queueOf(calls: [name: string, lane: PriorityClass | undefined, ...args: unknown[]][]) {
  const queue = new CallQueue<Call>();
  for (const [name, lane, ...args] of calls) queue.add({ name, args }, lane);
  return queue;
}

function drain(queue: CallQueue<Call>): string[] {
  const names: string[] = [];
  for (let call = queue.next(); call; call = queue.next()) names.push(call.name);
  return names;
}

it('serves the orgs of a class in turns, each in order (attacks 4, 7 and 9)', () => {
  const queue = queueOf([
    ['a1', 'request', 'org_a', 'file-1'],
    ['a2', 'request', { id: 'file-2', orgId: 'org_a' }],
    ['a3', 'engine', 'org_a'],
    ['keys', 'request', [{ orgId: 'org_a' }]],
    ['b1', 'request', { orgId: 'org_b' }],
    ['ping', undefined],
    ['b2', 'request', 'org_b'],
  ]);
  expect(drain(queue)).toEqual(['a1', 'keys', 'b1', 'a2', 'ping', 'b2', 'a3']);
});

it('serves heartbeats and results first, and scans last, by org', () => {
  const queue = queueOf([
    ['scan a', 'scan', { orgId: 'org_a' }],
    ['scan a again', 'scan', { orgId: 'org_a' }],
    ['scan b', 'scan', { orgId: 'org_b' }],
    ['request', 'request', 'org_a'],
    ['record', 'record', 'wrk_1'],
    ['beat', 'beat', 'wrk_1'],
  ]);
  expect(drain(queue)).toEqual(['beat', 'record', 'request', 'scan a', 'scan b', 'scan a again']);
});

it('lets a scan go after a hundred other calls', () => {
  const queue = queueOf([['scan', 'scan', 'org_a']]);
  const served: string[] = [];
  for (let n = 0; n < 150; n++) {
    queue.add({ name: 'request', args: ['org_b'] }, 'request');
    served.push(queue.next()!.name);
  }
  expect(served.indexOf('scan')).toBe(100);
});
