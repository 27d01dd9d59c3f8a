import type { ChatRequest } from '../../wire/chat/chat.ts';
import type { EmbeddingsRequest } from '../../wire/embeddings/embeddings.ts';
import { editMembers } from '../../wire/json/edit-members.ts';
import type { Edits } from '../../wire/json/edit-members.ts';
import type { JsonBody } from '../../wire/json/json-body.ts';
import type { FlavorTraits } from './flavors.ts';
import { effortMembers } from './reasoning-effort.ts';

/**
 * Members that would have some proxies call another address, with other credentials, or that are between our client and
 * us alone (reliability.md, C12; wire-formats.md, section 2.1). They are never sent on.
 */
const withheld = new Set(
  `api_base base_url api_key api_version api_type organization deployment_id user_config custom_llm_provider
  extra_headers extra_body extra_query headers proxy proxies fallbacks context_window_fallbacks mock_response model_list
  vertex_credentials vertex_project aws_access_key_id aws_secret_access_key aws_session_token
  aws_bedrock_runtime_endpoint litellm_params litellm_metadata proxy_server_request guardrails callbacks
  success_callback metadata user safety_identifier store`.split(/\s+/),
);

/** Members that only hosted services have, and that change nothing in what is answered. */
const hostedOnly = new Set(
  `audio modalities moderation prediction prompt_cache_key prompt_cache_retention service_tier verbosity
  web_search_options`.split(/\s+/),
);

/** The text to send for a chat request: the client's bytes, but for what must differ. */
export function chatText(
  { value, text }: JsonBody<ChatRequest>,
  model: string,
  stream: boolean,
  traits: FlavorTraits,
): string {
  const edits: Edits = new Map([['model', JSON.stringify(model)]]);
  if (stream) {
    edits.set('stream', 'true');
    edits.set('stream_options', '{"include_usage":true}');
  } else {
    if (value.stream) edits.set('stream', 'false');
    if (value.stream_options !== undefined) edits.set('stream_options', null);
  }
  if (traits.tokenLimit.value === 'max_tokens' && value.max_completion_tokens !== undefined) {
    edits.set('max_completion_tokens', null);
    if (value.max_completion_tokens !== null) edits.set('max_tokens', String(value.max_completion_tokens));
  }
  if (!traits.developerRole.value && value.messages.some(({ role }) => role === 'developer'))
    edits.set(
      'messages',
      JSON.stringify(
        value.messages.map((message) =>
          message.role === 'developer' ? { ...message, role: 'system' } : message,
        ),
      ),
    );
  for (const [name, member] of Object.entries(effortMembers(value, traits.effort.value)))
    edits.set(name, member === null ? null : JSON.stringify(member));
  if (!traits.thinkingBudget.value && value.thinking_budget_tokens !== undefined)
    edits.set('thinking_budget_tokens', null);
  if (!traits.hostedFields.value) for (const name in value) if (hostedOnly.has(name)) edits.set(name, null);
  return edited(text, value, edits);
}

/** The text to send for embeddings; floats are asked for, since some servers ignore base64 and none refuses floats. */
export function embeddingsText({ value, text }: JsonBody<EmbeddingsRequest>, model: string): string {
  const edits: Edits = new Map([['model', JSON.stringify(model)]]);
  if (value.encoding_format !== undefined) edits.set('encoding_format', '"float"');
  return edited(text, value, edits);
}

function edited(text: string, value: Record<string, unknown>, edits: Edits): string {
  for (const name in value) if (withheld.has(name)) edits.set(name, null);
  return editMembers(text, edits);
}
