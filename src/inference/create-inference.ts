import type { Accounts } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { RequestOutcomes } from '../core/request-outcomes.ts';
import { modelFor, servedElsewhere } from '../core/model-access.ts';
import type { Model, Serves } from '../core/model.ts';
import { noUsage, type Usage } from '../core/usage.ts';
import type { EngineCall } from '../engines/engines.ts';
import { generatedText } from '../wire/chat/answer/generated-text.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import { estimatePrompt } from '../wire/chat/request/estimate-prompt.ts';
import { hasImageUrl } from '../wire/chat/request/image-urls.ts';
import type { CompletionChunk, CompletionPiece } from '../wire/completions/completions.ts';
import { estimateTextPrompt } from '../wire/completions/request.ts';
import { type Answered, createAnswering, goesNatively, usageOf } from './answering.ts';
import type { Inference, InteractiveCall, ServedModel } from './inference.ts';
import { requireImages } from './inputs.ts';
import { type Lane, Lanes } from './lanes.ts';
import { Meter, type Metered, metered } from './meter.ts';
import { prefixOf, prefixOfText } from './prefixes.ts';
import { createRunLine } from './run-line.ts';
import type { Schemas } from './schemas/schemas.ts';

export interface InferenceDeps {
  models: ServedModel[];
  accounts: Pick<Accounts, 'charge' | 'budgets'>;
  /** Ends with it. */
  schemas: Schemas;
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** Builds `generate` over the engines of a configuration. It starts and stops the engines. */
export function createInference({ models, accounts, schemas, clock, ids, log }: InferenceDeps): Inference {
  const lanes = new Lanes(models, clock);
  const { catalog } = lanes;
  const laneOf = (modelId: string) => lanes.of(modelId);
  const answering = createAnswering({ schemas, clock, ids, log });

  const charge = (
    { caller, requestId, known }: InteractiveCall,
    { id: model, prices }: Model,
    usage: Usage,
  ) => {
    if (known) known.billed = usage;
    accounts.charge({ caller, requestId, model, usage, prices });
  };

  /** The model that answers here. */
  const servedFor = ({ caller }: Pick<InteractiveCall, 'caller'>, name: string, serves: Serves) => {
    const elsewhere = catalog.find(name) ? undefined : lanes.fleet.find(name);
    if (!elsewhere) return modelFor(catalog, caller, name, serves);
    throw servedElsewhere(modelFor(lanes.fleet, caller, name, serves), catalog, caller);
  };

  const enter = (modelId: string, { known }: InteractiveCall) => {
    if (known) known.model = modelId;
    const { model, pool, admission, countPrompt } = laneOf(modelId);
    return { model, pool, countPrompt, leave: admission.enter('interactive') };
  };

  const allowed = (name: string, caller: InteractiveCall['caller'], serves: Serves) => {
    const model = servedFor({ caller }, name, serves);
    accounts.budgets.require(caller.orgId);
    return model;
  };

  const admit = (name: string, call: InteractiveCall, serves: Serves) =>
    enter(allowed(name, call.caller, serves).id, call);

  /** A place is taken once the schemas were tried: who waits for that keeps no batch from the engine. */
  const admitChat = async (request: ChatRequest, call: InteractiveCall) => {
    const { id } = allowed(request.model, call.caller, 'chat');
    const promised = await answering.promise(laneOf(id), request, call.caller.orgId, call.signal);
    return { promised, ...enter(id, call) };
  };

  /** An answer that comes whole: charged when it is there. */
  const answered = async <T>(
    { model, leave }: ReturnType<typeof admit>,
    call: InteractiveCall,
    run: () => Promise<Answered<T>>,
  ): Promise<T> => {
    try {
      const { body, usage } = await run();
      call.answers?.(model.id);
      charge(call, model, usage);
      return body;
    } finally {
      leave();
    }
  };

  const countingOf =
    ({ countPrompt }: Pick<Lane, 'countPrompt'>, chat: ChatRequest, { caller }: InteractiveCall) =>
    async () =>
      (await countPrompt(chat, caller.orgId).catch(() => undefined)) ?? estimatePrompt(chat);

  const accountOf = (
    meter: Meter,
    { model, leave }: ReturnType<typeof admit>,
    countPrompt: () => Promise<number>,
    call: InteractiveCall,
  ): Pick<Metered<unknown, unknown>, 'leave' | 'begun' | 'settle'> => ({
    leave,
    begun: () => call.answers?.(model.id),
    async settle() {
      const spent = await meter.spent(countPrompt);
      if (spent !== noUsage) charge(call, model, spent);
    },
  });

  return {
    catalog,
    fleet: lanes.fleet,

    async start() {
      await lanes.start();
    },

    async stop() {
      await Promise.all([schemas.stop(), lanes.stop()]);
    },

    replaceModels: (next) => lanes.replace(next),

    async chat(request, call) {
      const how = howOf(call, prefixOf(request.value));
      const lane = await admitChat(request.value, call);
      return answered(lane, call, () => answering.chat(lane, request, lane.promised, how));
    },

    chatStream: (request, call) =>
      metered(async () => {
        const how = howOf(call, prefixOf(request.value));
        const lane = await admitChat(request.value, call);
        const { model, pool, promised } = lane;
        const name = answering.name(model);
        const meter = new Meter(lane.leave);
        return {
          lists: promised.stream(answering.asking(pool, model, request), how, (usage) =>
            meter.told(usageOf(usage)),
          ),
          read(chunks) {
            meter.promptTokens ??= chunks[0]?.prompt?.prompt_tokens;
            for (const { usage, choices } of chunks)
              if (usage) meter.told(usageOf(usage));
              else for (const { delta } of choices) meter.said(generatedText(delta));
            return chunks.map((chunk) => ({ ...chunk, ...name }));
          },
          ...accountOf(meter, lane, countingOf(lane, request.value, call), call),
        };
      }, call.signal),

    goesNatively(op, chat, caller) {
      return goesNatively(laneOf(servedFor({ caller }, chat.model, 'chat').id).pool, op, chat);
    },

    async native(op, { request, chat }, call, told) {
      const how = howOf(call, prefixOf(chat));
      const lane = await admitChat(chat, call);
      const given = await answered(lane, call, () => answering.native(lane, op, request, how));
      return told(given, answering.name(lane.model));
    },

    nativeStream: (op, { request, chat }, call, told) =>
      metered(async () => {
        const how = howOf(call, prefixOf(chat));
        const lane = await admitChat(chat, call);
        const name = answering.name(lane.model);
        const meter = new Meter(lane.leave);
        return {
          lists: lane.pool.native.stream(op, request, how),
          read(events) {
            for (const { usage, promptTokens, delta: said } of events) {
              meter.promptTokens ??= promptTokens;
              meter.said(said ?? '');
              if (usage) meter.told(usageOf(usage));
            }
            return events.map((event) => told(event, name));
          },
          ...accountOf(meter, lane, countingOf(lane, chat, call), call),
        };
      }, call.signal),

    async countTokens(request, { caller, signal }) {
      const { countPrompt, model } = laneOf(servedFor({ caller }, request.model, 'chat').id);
      requireImages(request, model);
      return (await countPrompt(request, caller.orgId, signal)) ?? estimatePrompt(request);
    },

    async countLine({ model, orgId, asked, signal }) {
      if (asked.kind === 'completions') return undefined;
      // Some servers fetch images to count them.
      if (asked.kind === 'chat' && !model.imageUrls && hasImageUrl(asked.chat.messages)) return undefined;
      const request = asked.kind === 'chat' ? asked.chat : asked.request().value;
      return laneOf(model.id).countPrompt(request, orgId, signal);
    },

    async embeddings(request, call) {
      const lane = admit(request.value.model, call, 'embeddings');
      return answered(lane, call, () => answering.embed(lane, request, howOf(call)));
    },

    async completions(request, call) {
      const how = howOf(call, prefixOfText(request.value));
      const lane = admit(request.value.model, call, 'completions');
      return answered(lane, call, () => answering.complete(lane, request, how));
    },

    completionsStream: (request, call) =>
      metered(async () => {
        const how = howOf(call, prefixOfText(request.value));
        const lane = admit(request.value.model, call, 'completions');
        const name = answering.completionName(lane.model);
        const meter = new Meter(lane.leave);
        return {
          lists: lane.pool.native.stream('completions', request, how),
          read(events) {
            return events.map(({ fields, delta: said, usage }): CompletionChunk => {
              if (usage) {
                meter.told(usageOf(usage));
                return { ...name, choices: [], usage };
              }
              meter.said(said ?? '');
              return { ...name, choices: fields?.['choices'] as CompletionPiece[] };
            });
          },
          ...accountOf(meter, lane, async () => estimateTextPrompt(request.value), call),
        };
      }, call.signal),

    runLine: createRunLine(lanes, answering),

    room: (modelId) => lanes.get(modelId)?.admission.room ?? 0,
    slots: (modelId) => lanes.get(modelId)?.pool.slots ?? 0,
    fared: (modelId) => lanes.get(modelId)?.pool.outcomes ?? noneFared,
    waiting: (modelId) => lanes.get(modelId)?.pool.waiting ?? null,
    replicas: (modelId) => lanes.get(modelId)?.pool.replicas ?? [],
    standIns: () => [],
    onRoom: (listener) => lanes.onRoom(listener),
    prefixCache: (modelId) => lanes.get(modelId)?.pool.capabilities.prefixCache ?? 'none',
    interactiveLoad: () =>
      Object.fromEntries(
        [...lanes.all()].map(([id, { admission }]) => [id, admission.interactive]).filter(([, n]) => n !== 0),
      ),
    contended: () => lanes.contended,
    limit: (modelId) => lanes.get(modelId)?.admission.limit ?? 0,
    found: (modelId) => lanes.get(modelId)?.pool.discovered,
    closed: (modelId) => lanes.get(modelId)?.pool.closedServers,
    lease(modelId, share) {
      const lane = lanes.get(modelId);
      lane?.admission.lease(share && share.lines);
      lane?.pool.share(share);
    },
  };
}

const noneFared: RequestOutcomes = {
  workedAt: Number.NEGATIVE_INFINITY,
  answers: 0,
  breaks: 0,
  isBreak: false,
};

function howOf({ signal, caller, known, betas }: InteractiveCall, prefix = ''): EngineCall {
  const more = { ...(known && { known }), ...(betas !== undefined && { betas }) };
  return { signal, priority: 'interactive', org: caller.orgId, prefix, ...more };
}
