/**
 * Ids of items hold the id of their response and their place, so that a reference to an item leads to it without an index:
 * `msg_<the 32 digits of resp_...><place, 4 digits>`. Places of inputs begin at `firstInput`.
 */
const firstInput = 0x8000;
const pattern = /^[a-z]{1,8}_([0-9a-f]{32})([0-9a-f]{4})$/;

const prefixes: Record<string, string> = {
  message: 'msg_',
  function_call: 'fc_',
  function_call_output: 'fco_',
  custom_tool_call: 'ctc_',
  custom_tool_call_output: 'ctco_',
  local_shell_call: 'lsh_',
  shell_call: 'sh_',
  apply_patch_call: 'apc_',
  tool_search_call: 'tsc_',
  tool_search_output: 'tso_',
  agent_message: 'am_',
  additional_tools: 'at_',
  reasoning: 'rs_',
  compaction: 'cmp_',
};

export function outputItemId(responseId: string, type: string, place: number): string {
  return idOf(responseId, type, place);
}

export function inputItemId(responseId: string, type: string, place: number): string {
  return idOf(responseId, type, firstInput + place);
}

function idOf(responseId: string, type: string, place: number): string {
  const digits = responseId.slice('resp_'.length);
  return `${Object.hasOwn(prefixes, type) ? prefixes[type] : 'item_'}${digits}${place.toString(16).padStart(4, '0')}`;
}

/** Where an item is stored, or undefined for an id that is none of ours. */
export function itemOrigin(id: string): { response: string; side: 'input' | 'output' } | undefined {
  const [, digits, place = ''] = pattern.exec(id) ?? [];
  if (digits === undefined) return undefined;
  return { response: `resp_${digits}`, side: Number.parseInt(place, 16) < firstInput ? 'output' : 'input' };
}
