import type { Route } from '../route.ts';
import { createChatCompletion } from './chat-completions-create.ts';
import { createEmbeddings } from './embeddings-create.ts';
import { getHealth } from './healthz-get.ts';
import { getOpenApi } from './openapi-get.ts';
import { getReadiness } from './readyz-get.ts';

/** Every operation of the API. What is not here does not exist. */
export const routes: readonly Route[] = [
  createChatCompletion,
  createEmbeddings,
  getHealth,
  getReadiness,
  getOpenApi,
];
