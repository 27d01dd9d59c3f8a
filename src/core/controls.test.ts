import { describe, expect, it } from 'vitest';
import { type BatchPause, findPause, type PauseScope } from './controls.ts';

const pause = (scope: Partial<PauseScope>, since: number): BatchPause => ({
  model: null,
  orgId: null,
  since,
  keyId: 'key_1',
  ...scope,
});
const lines = { orgId: 'org_a', model: 'm1' };

describe('the lines of an org for a model', () => {
  it.each([
    [{}, true],
    [{ model: 'm1' }, true],
    [{ orgId: 'org_a' }, true],
    [{ model: 'm1', orgId: 'org_a' }, true],
    [{ model: 'm2' }, false],
    [{ orgId: 'org_b' }, false],
    [{ model: 'm1', orgId: 'org_b' }, false],
    [{ model: 'm2', orgId: 'org_a' }, false],
  ])('are stopped by a pause of %j: %s', (scope, isStopped) => {
    expect(findPause([pause(scope, 1)], lines) !== null).toBe(isStopped);
  });

  it('are stopped since the earliest of several pauses', () => {
    const earliest = pause({ orgId: 'org_a' }, 3);
    const pauses = [pause({ model: 'm2' }, 1), pause({}, 5), earliest, pause({ model: 'm1' }, 4)];
    expect(findPause(pauses, lines)).toBe(earliest);
  });
});
