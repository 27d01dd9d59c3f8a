import type { Accounts } from '../accounts/accounts.ts';
import type { Reservation } from '../accounts/reservations.ts';
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import { ApiError } from '../core/errors.ts';
import { modelFor, servedElsewhereError } from '../core/model-access.ts';
import type { Model, Serves } from '../core/model.ts';
import { estimatedCost, pricesAt } from '../core/price.ts';
import { defaultTagName, tagOf } from '../core/usage-tag.ts';
import { noUsage, type Usage } from '../core/usage.ts';
import type { EngineCall } from '../engines/engines.ts';
import { generatedText } from '../wire/chat/answer/generated-text.ts';
import type { ChatRequest } from '../wire/chat/chat.ts';
import { estimatePrompt } from '../wire/chat/request/estimate-prompt.ts';
import { hasImageUrl } from '../wire/chat/request/image-urls.ts';
import type { CompletionChunk, CompletionPiece } from '../wire/completions/completions.ts';
import { estimateTextPrompt } from '../wire/completions/request.ts';
import { type AnswerWithUsage, createEngineCalls, goesNatively, usageOf } from './engine-calls.ts';
import { createCapacity } from './capacity.ts';
import type { Inference, InferenceService, InteractiveCall } from './inference.ts';
import { requireNoImageUrls } from './modalities.ts';
import {
  type PooledModel,
  type ServedModel,
  ServedModels,
  type ServedModelsOptions,
} from './served-models.ts';
import { StreamMeter, type MeteredSource, meterStream } from './meter.ts';
import { promptPrefix, textPromptPrefix } from './prompt-prefix.ts';
import type { TokenAmounts } from '../limits/limiter.ts';
import { chatTokens, completionTokens, directTokens } from './token-estimates.ts';
import { createRunLine } from './run-line.ts';
import type { Schemas } from './schemas/schemas.ts';

export interface InferenceDeps extends ServedModelsOptions {
  models: PooledModel[];
  accounts: Pick<Accounts, 'charge' | 'budgets' | 'billingClock'>;
  /** Metadata member whose value is the tag of the usage. */
  usageTag?: string;
  /** Stopped with the service. */
  schemas: Schemas;
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** A request that is counted in, with its part of the budgets. */
interface Admitted extends PooledModel, Pick<ServedModel, 'countPrompt'> {
  reservation: Reservation;
  leave: () => void;
}

/** Builds inference over the engines of a configuration. */
export function createInference(deps: InferenceDeps): InferenceService {
  const { accounts, schemas, usageTag = defaultTagName, clock, ids, log } = deps;
  const models = new ServedModels(deps.models, clock, deps);
  const { catalog, peers } = models;
  const calls = createEngineCalls({ schemas, clock, ids, log });

  const charge = (
    { caller, endpoint, metadata, trace }: InteractiveCall,
    { model: { id: model, prices: list }, reservation }: Pick<Admitted, 'model' | 'reservation'>,
    usage: Usage,
  ) => {
    const tag = tagOf(metadata, usageTag);
    const prices = pricesAt(list, accounts.billingClock.now());
    if (trace) Object.assign(trace, { billed: usage, prices });
    accounts.charge({ caller, model, endpoint, tag, usage, prices, reservation });
  };

  /** The model of this process. @throws ApiError also where only other processes serve it */
  const resolve = (name: string, { caller }: Pick<InteractiveCall, 'caller'>, serves: Serves) => {
    const elsewhere = catalog.find(name) ? undefined : peers.find(name);
    if (!elsewhere) return models.require(modelFor(catalog, caller, name, serves).id);
    throw servedElsewhereError(modelFor(peers, caller, name, serves), catalog, caller);
  };

  const resolveWithinBudget = (name: string, call: InteractiveCall, serves: Serves) => {
    const served = resolve(name, call, serves);
    if (served.pool.capabilities.batchOnly) throw batchOnlyError(served.model);
    accounts.budgets.require(call.caller);
    return served;
  };

  /** Reserves the estimated cost, and counts the request in. */
  const enter = (
    { model: { id } }: ServedModel,
    { caller, trace }: InteractiveCall,
    estimate: (context: Model['contextLength']) => TokenAmounts,
  ): Admitted => {
    if (trace) trace.model = id;
    const { model, pool, admission, countPrompt } = models.require(id);
    const reservation = accounts.budgets.reserve(caller, () =>
      estimatedCost(estimate(model.contextLength), pricesAt(model.prices, accounts.billingClock.now())),
    );
    return { model, pool, countPrompt, reservation, leave: admission.enter('interactive') };
  };

  const admit = (
    name: string,
    call: InteractiveCall,
    serves: Serves,
    estimate: (context: Model['contextLength']) => TokenAmounts,
  ) => enter(resolveWithinBudget(name, call, serves), call, estimate);

  /** Enters after the schemas are compiled, so that waiting for them keeps no slot from batches. */
  const admitChat = async (request: ChatRequest, call: InteractiveCall) => {
    const served = resolveWithinBudget(request.model, call, 'chat');
    const guarantee = await calls.guarantee(served, request, call.caller.orgId, call.signal);
    return { guarantee, ...enter(served, call, (context) => chatTokens(request, context)) };
  };

  /** Runs a request whose answer comes in one piece, and charges for it. */
  const answered = async <T>(
    admitted: Admitted,
    call: InteractiveCall,
    run: () => Promise<AnswerWithUsage<T>>,
  ): Promise<T> => {
    try {
      const { body, usage } = await run();
      call.onModel?.(admitted.model.id);
      charge(call, admitted, usage);
      return body;
    } finally {
      admitted.leave();
      admitted.reservation.release();
    }
  };

  const promptCounter =
    ({ countPrompt }: Pick<ServedModel, 'countPrompt'>, chat: ChatRequest, { caller }: InteractiveCall) =>
    async () =>
      (await countPrompt(chat, caller.orgId).catch(() => undefined)) ?? estimatePrompt(chat);

  /** The part of a metered stream that admits, names and charges. */
  const billing = (
    meter: StreamMeter,
    admitted: Admitted,
    countPrompt: () => Promise<number>,
    call: InteractiveCall,
  ): Pick<MeteredSource<unknown, unknown>, 'leave' | 'onFirst' | 'settle' | 'release'> => ({
    leave: admitted.leave,
    release: () => admitted.reservation.release(),
    onFirst: () => call.onModel?.(admitted.model.id),
    async settle() {
      const usage = await meter.usage(countPrompt);
      if (usage !== noUsage) charge(call, admitted, usage);
    },
  });

  const inference: Inference = {
    // Limits are in `with-limits.ts`.
    admit: (_chat, call) => Promise.resolve(call),

    async chat(request, call) {
      const engineCall = toEngineCall(call, promptPrefix(request.value));
      const admitted = await admitChat(request.value, call);
      return answered(admitted, call, () => calls.chat(admitted, request, admitted.guarantee, engineCall));
    },

    chatStream: (request, call) =>
      meterStream(async () => {
        const engineCall = toEngineCall(call, promptPrefix(request.value));
        const admitted = await admitChat(request.value, call);
        const { model, pool, guarantee, leave } = admitted;
        const name = calls.name(model);
        const meter = new StreamMeter(leave);
        return {
          lists: guarantee.stream(calls.engineRequest(pool, model, request), engineCall, (usage) =>
            meter.setUsage(usageOf(usage)),
          ),
          read(chunks) {
            meter.promptTokens ??= chunks[0]?.prompt?.prompt_tokens;
            for (const { usage, choices } of chunks)
              if (usage) meter.setUsage(usageOf(usage));
              else for (const { delta } of choices) meter.addText(generatedText(delta));
            return chunks.map((chunk) => ({ ...chunk, ...name }));
          },
          ...billing(meter, admitted, promptCounter(admitted, request.value, call), call),
        };
      }, call.signal),

    goesNatively(op, chat, caller) {
      return goesNatively(resolve(chat.model, { caller }, 'chat').pool, op, chat);
    },

    async native(op, { request, chat }, call, present) {
      const engineCall = toEngineCall(call, promptPrefix(chat));
      const admitted = await admitChat(chat, call);
      const answer = await answered(admitted, call, () => calls.native(admitted, op, request, engineCall));
      return present(answer, calls.name(admitted.model));
    },

    nativeStream: (op, { request, chat }, call, present) =>
      meterStream(async () => {
        const engineCall = toEngineCall(call, promptPrefix(chat));
        const admitted = await admitChat(chat, call);
        const name = calls.name(admitted.model);
        const meter = new StreamMeter(admitted.leave);
        return {
          lists: admitted.pool.native.stream(op, request, engineCall),
          read(events) {
            for (const { usage, promptTokens, delta: text } of events) {
              meter.promptTokens ??= promptTokens;
              meter.addText(text ?? '');
              if (usage) meter.setUsage(usageOf(usage));
            }
            return events.map((event) => present(event, name));
          },
          ...billing(meter, admitted, promptCounter(admitted, chat, call), call),
        };
      }, call.signal),

    async countTokens(request, { caller, signal }) {
      const { countPrompt, model } = resolve(request.model, { caller }, 'chat');
      requireNoImageUrls(request, model);
      return (await countPrompt(request, caller.orgId, signal)) ?? estimatePrompt(request);
    },

    async countLine({ model, orgId, asked, signal }) {
      if (asked.kind !== 'chat' && asked.kind !== 'embeddings') return undefined;
      // Some servers fetch images to count them.
      if (asked.kind === 'chat' && !model.imageUrls && hasImageUrl(asked.chat.messages)) return undefined;
      const request = asked.kind === 'chat' ? asked.chat : asked.request().value;
      return models.require(model.id).countPrompt(request, orgId, signal);
    },

    async direct(kind, request, call) {
      const admitted = admit(request.value.model, call, kind, () => directTokens(kind, request.value));
      return answered(admitted, call, () => calls.direct(admitted, kind, request, toEngineCall(call)));
    },

    async completions(request, call) {
      const engineCall = toEngineCall(call, textPromptPrefix(request.value));
      const admitted = admit(request.value.model, call, 'completions', (context) =>
        completionTokens(request.value, context),
      );
      return answered(admitted, call, () => calls.complete(admitted, request, engineCall));
    },

    completionsStream: (request, call) =>
      meterStream(async () => {
        const engineCall = toEngineCall(call, textPromptPrefix(request.value));
        const admitted = admit(request.value.model, call, 'completions', (context) =>
          completionTokens(request.value, context),
        );
        const name = calls.completionName(admitted.model);
        const meter = new StreamMeter(admitted.leave);
        return {
          lists: admitted.pool.native.stream('completions', request, engineCall),
          read(events) {
            return events.map(({ fields, delta: text, usage }): CompletionChunk => {
              if (usage) {
                meter.setUsage(usageOf(usage));
                return { ...name, choices: [], usage };
              }
              meter.addText(text ?? '');
              return { ...name, choices: fields?.['choices'] as CompletionPiece[] };
            });
          },
          ...billing(meter, admitted, async () => estimateTextPrompt(request.value), call),
        };
      }, call.signal),

    runLine: createRunLine(models, calls),
  };

  return {
    inference,
    capacity: createCapacity(models),
    catalog,
    peers,
    replaceModels: (next) => models.replace(next),
    drain: (replicaIds) => models.drain(replicaIds),
    cap: (caps) => models.cap(caps),
    start: () => models.start(),
    async stop() {
      await Promise.all([schemas.stop(), models.stop()]);
    },
  };
}

/** Refusal of a request that expects its answer now. A fallback of the model may answer it. */
function batchOnlyError({ id }: Model): ApiError {
  const message = `The model '${id}' runs in batches only. Create a batch, or send the request with service_tier flex.`;
  const blame = { scope: 'model', certain: true, retry: false } as const;
  return new ApiError('request_refused', message, { param: 'model', blame, shouldRetry: false });
}

function toEngineCall({ signal, caller, trace, betas }: InteractiveCall, prefix = ''): EngineCall {
  const more = { ...(trace && { trace }), ...(betas !== undefined && { betas }) };
  const { orgId: org, weight = 1 } = caller;
  return { signal, priority: 'interactive', org, weight, prefix, ...more };
}
