import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { damaged, oddHeaders, type TextDamage, textDamage, utf8 } from './damage-text.ts';
import { mutated, type Mutation, mutation } from './mutate.ts';
import { type Body, type Endpoint, endpoints } from './requests.ts';

/** Request with the damage to apply before it is sent. */
interface Case {
  body: Body;
  mutations: Mutation[];
  damage: TextDamage | null;
  headers: Record<string, string> | null;
}

/** Request as sent. */
export interface SentRequest {
  path: string;
  headers: Record<string, string>;
  bytes: Uint8Array;
}

/** Generates a value once in `n` times, otherwise null. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>, times: number): fc.Arbitrary<T | null> =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

const mutations: fc.Arbitrary<Mutation[]> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Mutation[]>([]) },
  { weight: 4, arbitrary: fc.tuple<Mutation[]>(mutation) },
  { weight: 1, arbitrary: fc.array(mutation, { minLength: 2, maxLength: 4 }) },
);

/** Most requests have one kind of damage. Some have none, so that a rejection is known to be caused by the damage. */
export function requestsTo(endpoint: Endpoint): fc.Arbitrary<SentRequest> {
  const others = endpoints.filter(({ path }) => path !== endpoint.path).map(({ body }) => body);
  return fc
    .record({
      body: fc.oneof({ weight: 29, arbitrary: endpoint.body }, { weight: 1, arbitrary: fc.oneof(...others) }),
      mutations,
      damage: rarely(textDamage, 10),
      headers: rarely(oddHeaders, 40),
    })
    .map((each) => toSend(endpoint.path, each));
}

function toSend(path: string, { body, mutations: changes, damage, headers }: Case): SentRequest {
  const text = JSON.stringify(changes.reduce(mutated, body as unknown)) ?? '';
  const bytes = damage === null ? utf8(text) : damaged(text, damage);
  return {
    path,
    headers: { 'content-type': 'application/json', ...headers },
    bytes: headers?.['content-encoding'] === 'gzip' ? gzipSync(bytes) : bytes,
  };
}
