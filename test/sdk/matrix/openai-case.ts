import type * as zodHelpers from 'openai/helpers/zod';
import type { RunningApp } from '../../support/app.ts';
import type { FakeUpstream } from '../../support/fake-upstream.ts';
import type { Client, Sdk } from '../clients.ts';

/** Context of an openai cell. */
export interface OpenAICase {
  client: Client;
  sdk: Sdk;
  /** Helpers that come with this client. */
  zod: typeof zodHelpers;
  running: RunningApp;
  /** Upstream of the model `weather`. */
  upstream: FakeUpstream;
}
