/**
 * Item ids contain the id of the response and the position, so that a reference needs no index to be found:
 * `msg_<32 digits of resp_...><position, 4 digits>`. Positions of inputs start here.
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

export function outputItemId(responseId: string, type: string, position: number): string {
  const prefix = Object.hasOwn(prefixes, type) ? prefixes[type] : 'item_';
  return `${prefix}${responseId.slice('resp_'.length)}${position.toString(16).padStart(4, '0')}`;
}

export function inputItemId(responseId: string, type: string, position: number): string {
  return outputItemId(responseId, type, firstInput + position);
}

/** Response that stores an item; undefined for an id that is not ours. */
export function itemOrigin(id: string): { response: string; side: 'input' | 'output' } | undefined {
  const [, digits, position = ''] = pattern.exec(id) ?? [];
  if (digits === undefined) return undefined;
  return {
    response: `resp_${digits}`,
    side: Number.parseInt(position, 16) < firstInput ? 'output' : 'input',
  };
}
