import { describe, expect, it } from 'vitest';
import { type Candidate, chooseReplica } from './choose-replica.ts';

function replicas(...loads: number[]): (Candidate & { inFlight: number })[] {
  return loads.map((inFlight, at) => ({ name: `gpu-${at}`, inFlight, capacity: 16, slowness: 1, rank: at }));
}

describe('chooseReplica', () => {
  it('picks the replica with room, if there is one', () => {
    const all = replicas(16, 3);
    expect(chooseReplica([all[1]!], all, 'p')?.name).toBe('gpu-1');
    expect(chooseReplica([], all, 'p')).toBeUndefined();
  });

  it('fills the replicas evenly where each of many processes has lines for few of them', () => {
    const inFlight = new Map<string, number>();
    for (let process = 0; process < 40; process++) {
      const own = replicas(0, 0, 0, 0, 0, 0, 0, 0);
      const all = own.map((replica, at) => ({ ...replica, rank: (at * 3 + process) % own.length }));
      for (let line = 0; line < 3; line++) {
        const { name } = chooseReplica(all, all, '')!;
        all.find((replica) => replica.name === name)!.inFlight++;
        inFlight.set(name, (inFlight.get(name) ?? 0) + 1);
      }
    }
    expect([...inFlight.values()]).toEqual(Array.from({ length: 8 }, () => 15));
  });

  it('picks the least loaded replica relative to its capacity', () => {
    const all = replicas(8, 6, 7);
    expect(chooseReplica(all, all, '')?.name).toBe('gpu-1');
    const large = [{ ...all[0]!, capacity: 64 }, all[1]!, all[2]!];
    expect(chooseReplica(large, large, '')?.name).toBe('gpu-0');
  });

  it('gives a slow replica less', () => {
    const all = replicas(4, 4);
    all[0] = { ...all[0]!, slowness: 3 };
    expect(chooseReplica(all, all, '')?.name).toBe('gpu-1');
  });

  it('sends a prefix to its home replica while that has no more than its share', () => {
    const all = replicas(4, 4, 4, 4);
    const home = chooseReplica(all, all, 'prefix-a')!;
    for (let i = 0; i < 3; i++) expect(chooseReplica(all, all, 'prefix-a')).toBe(home);
    home.inFlight = 6;
    const other = chooseReplica(all, all, 'prefix-a')!;
    expect(other).not.toBe(home);
    home.inFlight = 5;
    expect(chooseReplica(all, all, 'prefix-a')).toBe(home);
  });

  it('spreads prefixes over all replicas and moves only those of a removed one', () => {
    const all = replicas(0, 0, 0, 0);
    const prefixes = Array.from({ length: 400 }, (_, at) => `prefix ${at}`);
    const before = prefixes.map((prefix) => chooseReplica(all, all, prefix)!.name);
    for (const { name } of all) {
      const homes = before.filter((home) => home === name).length;
      expect(homes).toBeGreaterThan(70);
      expect(homes).toBeLessThan(130);
    }
    const rest = all.slice(1);
    const after = prefixes.map((prefix) => chooseReplica(rest, rest, prefix)!.name);
    for (const [at, home] of before.entries()) if (home !== 'gpu-0') expect(after[at]).toBe(home);
  });
});
