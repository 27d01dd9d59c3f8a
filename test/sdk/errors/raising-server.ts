import { createStatelessPool } from '../../support/test-pool.ts';
import { createAccounts } from '../../../src/accounts/create-accounts.ts';
import { createIds } from '../../../src/base/ids.ts';
import { silent } from '../../../src/base/log.ts';
import { systemClock, systemRandom } from '../../../src/base/system.ts';
import { ApiError } from '../../../src/core/errors.ts';
import type { Service } from '../../../src/base/service.ts';
import { createInference } from '../../../src/inference/create-inference.ts';
import { createSchemas } from '../../../src/inference/schemas/schemas.ts';
import { createResponses } from '../../../src/responses/create-responses.ts';
import { createServer } from '../../../src/server/server.ts';
import { createMemoryStore } from '../../support/memory-store.ts';
import { testSurfaces } from '../../support/surfaces.ts';
import { testLimits } from '../../server/support/start-server.ts';
import { createFakeEngine } from '../../support/fake-engine.ts';
import { messageFor } from './error-rows.ts';
import type { ErrorRow } from './error-rows.ts';
import { createScanGate } from '../../../src/store/scan-gate.ts';

export interface RaisingServer {
  url: string;
  key: string;
  /** Number of calls of the model with this prompt. */
  attempts(prompt: string): number;
  stop(): Promise<void>;
}

/**
 * Starts a real server with an engine that fails with the error of the row whose number starts the prompt. Clients can thus
 * meet every error, even those that cannot be caused from outside.
 */
export async function startRaisingServer(rows: readonly ErrorRow[]): Promise<RaisingServer> {
  const asked: string[] = [];
  const fail = (messages: { content?: unknown }[]): never => {
    const prompt = String(messages.at(-1)?.content);
    asked.push(prompt);
    throw errorOf(rows[Number.parseInt(prompt)]!);
  };
  const engine = Object.assign(createFakeEngine(), {
    slots: 1_000,
    generate: async ({ value }: { value: { messages: object[] } }) => fail(value.messages),
    // oxlint-disable-next-line require-yield -- it fails before it yields
    async *stream({ value }: { value: { messages: object[] } }) {
      fail(value.messages);
    },
  });

  const parts = { clock: systemClock, ids: createIds(systemClock, systemRandom), log: silent };
  const store = createMemoryStore(parts);
  const accounts = createAccounts({
    scans: createScanGate(),
    ...parts,
    random: systemRandom,
    store,
    config: {},
  });
  const prices = { input: 0, cachedInput: 0, output: 0 };
  const model = { id: 'tiny', aliases: ['default'], serves: ['chat' as const], prices, createdAt: 0 };
  const models = [{ model, pool: createStatelessPool(engine) }];
  const service = createInference({ ...parts, models, accounts, schemas: createSchemas(parts) });
  const { inference, capacity, catalog, peers } = service;
  const limits = { conversationBytes: 1_000_000, storedResponses: 1_000, responseBytesPerOrg: 1_000_000_000 };
  const responses = createResponses({
    scans: createScanGate(),
    ...parts,
    store,
    inference,
    requests: {} as never,
    backgroundTimeoutMs: 1,
    catalog,
    budgets: accounts.budgets,
    limits,
    requireDisk: () => {},
    exclusive: true,
  });
  const server = createServer({
    ...parts,
    accounts,
    controls: {} as never,
    limitReport: {} as never,
    inference,
    capacity,
    catalog,
    peers,
    responses,
    files: {} as never,
    batches: {} as never,
    webhooks: {} as never,
    ready: async () => ({ ok: true }),
    version: '1',
    surfaces: testSurfaces({ limits: testLimits }),
    strictFields: false,
    limits: testLimits,
  });
  const services: Service[] = [store, accounts, service, responses, server];
  for (const each of services) await each.start();
  await accounts.makeFirstKeys();
  return {
    url: server.url,
    key: accounts.firstKeys?.key ?? '',
    attempts: (prompt) => asked.filter((each) => each === prompt).length,
    async stop() {
      for (const each of services.toReversed()) await each.stop();
    },
  };
}

/** Internal errors are not `ApiError`s; their messages stay hidden. */
function errorOf(row: ErrorRow): Error {
  if (row.code === 'internal_error') return new TypeError('a secret of the house');
  return new ApiError(row.code, messageFor(row), row.options);
}
