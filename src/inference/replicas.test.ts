import { describe, expect, it } from 'vitest';
import { createCatalog } from '../core/model.ts';
import type { ReplicaReport } from '../core/replica-state.ts';
import { replicaId } from './replica-id.ts';
import { fleetReplicas } from './replicas.ts';

const price = { input: 0, cachedInput: 0, output: 0 };
const model = { id: 'm1', aliases: [], serves: ['chat' as const], prices: price, createdAt: 0 };
const server = (fields: Partial<ReplicaReport> = {}): ReplicaReport => ({
  name: 'http://gpu-1',
  health: 'up',
  slots: 8,
  configured: null,
  discovered: null,
  gaveWay: 0,
  slowdown: null,
  inFlight: 2,
  waiting: null,
  model: 'm1',
  isShared: true,
  ...fields,
});

const fleetOf = (own: ReplicaReport[], elsewhere: ReplicaReport[]) =>
  fleetReplicas({
    catalog: createCatalog([model]),
    capacity: {
      replicas: () => own,
      sharedModels: () => new Set(own.some(({ isShared }) => isShared) ? ['m1'] : []),
    },
    peers: { replicasElsewhere: () => elsewhere },
  });

describe('the replicas of all processes', () => {
  it('add the requests in flight at a shared server, whose slots exist once', () => {
    const own = server({ health: 'open', slots: 8, discovered: 8 });
    const [fleet, ...others] = fleetOf([own], [server({ slots: 12, discovered: 12, inFlight: 3 })]);
    expect(fleet).toMatchObject({ health: 'open', slots: 12, discovered: 12, inFlight: 5 });
    expect(others).toEqual([]);
  });

  it('have the highest slowdown that a process sees', () => {
    const { slowdown: _, ...older } = server({});
    const all = [older as ReplicaReport, server({ slowdown: 1.2 }), server({ slowdown: 1.5 })];
    expect(fleetOf([server({ slowdown: null })], all)[0]!.slowdown).toBe(1.5);
    expect(fleetOf([server({ slowdown: null })], [])[0]!.slowdown).toBeNull();
  });

  it('add the slots of engines that each process has for itself', () => {
    const isShared = false;
    expect(fleetOf([server({ isShared })], [server({ isShared }), server({ isShared })])).toMatchObject([
      { slots: 24, discovered: null, inFlight: 6 },
    ]);
  });

  it('include those of models that only other processes serve', () => {
    const theirs = server({ model: 'm2' });
    expect(fleetOf([server()], [theirs])).toMatchObject([{ model: 'm1' }, { model: 'm2', inFlight: 2 }]);
  });

  it('have ids that depend on the model and the name alone', () => {
    expect(replicaId('m1', 'http://gpu-1')).toBe('rep_6c362eaa7390ba26cb91ced15df533c1');
    expect(fleetOf([server()], [])[0]!.id).toBe(replicaId('m1', 'http://gpu-1'));
    expect(new Set([replicaId('a', 'b c'), replicaId('a b', 'c'), replicaId('a', 'b')]).size).toBe(3);
  });
});
