import type { DateForm } from '../../core/batch.ts';
import type { ChangePage } from '../../batches/watch/batch-changes.ts';
import { batchErrorEvent } from '../../wire/errors/error-events.ts';
import { presentHistory } from '../../wire/batch/history.ts';
import { type BatchView, batchJson, operatorBatchJson } from '../../wire/batch/present.ts';
import {
  changeEvent,
  deletedEvent,
  parseAllBatchesStreamQuery,
  parseBatchStreamQuery,
  readyEvent,
} from '../../wire/batch/stream.ts';
import { sseHeaders } from '../../wire/shared/sse.ts';
import { type Answer, bytes, events, json } from '../answer/answer.ts';
import { batchHistorySchema, batchSchema, operatorBatchSchema } from '../openapi/answer-schemas.ts';
import { allBatchesStreamQuery, batchStreamQuery } from '../openapi/query-schemas.ts';
import type { Incoming, Services } from '../route.ts';
import { defineRoutes } from './define-routes.ts';

type Filters = Parameters<Services['batches']['followAll']>[0];

/** Batches over time: streams of the changes of all batches, and the history of one. */
export const batchStreamRoutes = defineRoutes({ access: 'batches', tag: 'Batches' }, [
  {
    on: 'GET /v1/batches/events',
    name: 'All Batch Events',
    summary: 'Stream the changes of all batches of the org as server-sent events',
    query: batchStreamQuery,
    strictQuery: true,
    type: 'text/event-stream',
    answer: batchSchema,
    handle(incoming, services) {
      const { filters, position } = parseBatchStreamQuery(incoming.query);
      const own = { ...filters, orgId: incoming.caller.orgId };
      return stream(incoming, services, { filters: own, position, render: ownPage });
    },
  },
  {
    on: 'GET /v1/batches/:batch_id/history',
    name: 'Batch History',
    summary: 'Get the progress of a batch over time, and its states and waits',
    answer: batchHistorySchema,
    async handle({ caller, param, surface }, { batches }) {
      const { view, history, now } = await batches.history(caller, param);
      return json(200, presentHistory(view, history, now, surface.dates));
    },
  },
]);

export const adminBatchStreamRoutes = defineRoutes({ access: 'admin', tag: 'Admin' }, [
  {
    on: 'GET /v1/admin/batches/events',
    name: 'Events of All Orgs',
    summary: 'Stream the changes of the batches of all orgs as server-sent events',
    query: allBatchesStreamQuery,
    strictQuery: true,
    type: 'text/event-stream',
    answer: operatorBatchSchema,
    async handle(incoming, services) {
      const { org, filters, position } = parseAllBatchesStreamQuery(incoming.query);
      const orgId = org === undefined ? undefined : (await services.accounts.orgs.find(org)).id;
      return stream(incoming, services, { filters: { ...filters, orgId }, position, render: anyPage });
    },
  },
  {
    on: 'GET /v1/admin/batches/:batch_id/history',
    name: 'History of Any Batch',
    summary: 'Get the progress of a batch of any org over time, and its states and waits',
    answer: batchHistorySchema,
    async handle({ param, surface }, { batches }) {
      const owner = await batches.asOwner(param);
      const { view, history, now } = await batches.history(owner, param);
      return json(200, presentHistory(view, history, now, surface.dates));
    },
  },
]);

interface Streamed {
  filters: Filters;
  position: string | undefined;
  render: (page: ChangePage, dates: DateForm, services: Services) => Promise<Uint8Array>;
}

async function stream(incoming: Incoming, services: Services, streamed: Streamed): Promise<Answer> {
  const { method, headers, signal, recheck, surface } = incoming;
  if (method === 'HEAD') return bytes(null, sseHeaders);
  const { filters, render } = streamed;
  const header = headers['last-event-id'];
  const position = streamed.position ?? (typeof header === 'string' ? header : undefined);
  const pages = await services.batches.followAll(filters, position, signal);
  return events(eventsOf(), batchErrorEvent);

  /** The key is checked before each page: it may be revoked during the stream. */
  async function* eventsOf() {
    for await (const page of pages) {
      await recheck();
      if (page.changes.length === 0) yield readyEvent(page.position, page.complete);
      else yield await render(page, surface.dates, services);
    }
  }
}

type RenderedPages = Record<DateForm, WeakMap<ChangePage, Uint8Array>>;

/** Text of pages, which streams with the same filter share on surfaces with the same dates. */
const ownPages: RenderedPages = { iso: new WeakMap(), unix: new WeakMap() };
const anyPages: RenderedPages = { iso: new WeakMap(), unix: new WeakMap() };

async function ownPage(page: ChangePage, dates: DateForm): Promise<Uint8Array> {
  return rendered(ownPages[dates], page, (view) => batchJson(view, dates));
}

async function anyPage(page: ChangePage, dates: DateForm, services: Services): Promise<Uint8Array> {
  const names = await orgNames(services, page);
  return rendered(anyPages[dates], page, (view) =>
    operatorBatchJson(view, dates, names.get(view.batch.orgId) ?? null),
  );
}

function rendered(
  known: WeakMap<ChangePage, Uint8Array>,
  page: ChangePage,
  toJson: (view: BatchView) => string,
): Uint8Array {
  const text =
    known.get(page) ??
    Buffer.from(
      page.changes
        .map(({ position, id, view }) =>
          view === null ? deletedEvent(position, id) : changeEvent(position, toJson(view)),
        )
        .join(''),
    );
  known.set(page, text);
  return text;
}

/** Names of orgs are read again after this time. */
const namesMs = 10_000;
const readNames = new WeakMap<object, { at: number; names: Promise<ReadonlyMap<string, string>> }>();

/** Names of the orgs of a page, from one read for all streams. */
async function orgNames(
  { accounts, clock }: Services,
  page: ChangePage,
): Promise<ReadonlyMap<string, string>> {
  const last = readNames.get(accounts);
  const now = clock.monotonic();
  const names = last && now - last.at < namesMs ? await last.names : undefined;
  if (names && page.changes.every(({ view }) => view === null || names.has(view.batch.orgId))) return names;
  const reading = accounts.orgs.names();
  readNames.set(accounts, { at: now, names: reading });
  return reading;
}
