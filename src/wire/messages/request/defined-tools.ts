import type { JsonSchema } from '../../chat/chat.ts';
import { oneOf } from '../../schema/schema.ts';
import { integerInput, closedObject, textInput, type ToolInputs } from '../../shared/tool-inputs.ts';
import type { MessagesTool } from '../messages.ts';

/**
 * Types of tools that the API defines and the client runs. Requests only name them, so other models need a definition; names
 * and inputs are those of Anthropic's documentation. An unknown version counts as the latest.
 */
export const definedTypes = '^(bash|text_editor|computer|memory)_[0-9]{8}$';
const typePattern = new RegExp(definedTypes);

interface ToolDefinition {
  description: string;
  input_schema: JsonSchema;
}

/** Returns undefined for a tool of another type. */
export function findDefinition(tool: MessagesTool): ToolDefinition | undefined {
  const family = typePattern.exec(tool.type ?? '')?.[1];
  return family ? families[family as keyof typeof families](tool, tool.type!.slice(-8)) : undefined;
}

export function isDefinedTool({ type }: MessagesTool): boolean {
  return typePattern.test(type ?? '');
}

const integers = (length: number, description: string) => ({
  type: 'array',
  items: { type: 'integer' },
  minItems: length,
  maxItems: length,
  description,
});

const bash: ToolDefinition = {
  description:
    'Runs commands in a bash session that lives on between calls. Nothing can be typed into a command.',
  input_schema: closedObject({
    command: textInput('The command to run. Required unless restart is true.'),
    restart: { type: 'boolean', description: 'True to start the session anew.' },
  }),
};

const fileCommands = ['view', 'create', 'str_replace', 'insert'];
const fileInput: ToolInputs = {
  path: textInput('Of the file or directory.'),
  file_text: textInput('For create: the whole content of the file.'),
  old_str: textInput(
    'For str_replace: the text to replace. It occurs in the file exactly once, whitespace included.',
  ),
  new_str: textInput('For str_replace: the text to put there; without it the old one is deleted.'),
  insert_line: integerInput('For insert: the line after which the text goes; 0 for the start of the file.'),
  insert_text: textInput('For insert: the text to insert.'),
  view_range: integers(
    2,
    'For view: the first line and the last, counted from 1; -1 is the end of the file.',
  ),
};

const editor: ToolDefinition = {
  description: 'Views, creates and edits text files, and lists directories.',
  input_schema: closedObject({ command: oneOf(fileCommands), ...fileInput }, ['command', 'path']),
};

/** Versions up to 20250124 have `undo_edit`, and insert the text of `new_str`. */
const { insert_text: _, ...olderInput } = fileInput;
const olderEditor: ToolDefinition = {
  description: editor.description,
  input_schema: closedObject(
    {
      command: oneOf([...fileCommands, 'undo_edit']),
      ...olderInput,
      new_str: textInput(
        'For str_replace: the text to put there; without it the old one is deleted. For insert: the text.',
      ),
    },
    ['command', 'path'],
  ),
};

const memory: ToolDefinition = {
  description:
    'Keeps files in the directory /memories from one conversation to the next. View it before anything else, and write down what will be needed later.',
  input_schema: closedObject(
    {
      command: oneOf([...fileCommands, 'delete', 'rename']),
      ...fileInput,
      path: textInput('Of the file or directory, from /memories on. For all but rename.'),
      old_path: textInput('For rename: where the file is.'),
      new_path: textInput('For rename: where it goes.'),
    },
    ['command'],
  ),
};

const firstActions =
  'key type mouse_move left_click left_click_drag right_click middle_click double_click screenshot cursor_position';
const laterActions = 'hold_key left_mouse_down left_mouse_up triple_click scroll wait';

function computer(tool: MessagesTool, version: string): ToolDefinition {
  const { display_width_px: width, display_height_px: height, enable_zoom: zooms } = tool;
  const isFirst = version < '20250124';
  const size = width && height ? ` The screen is ${width} pixels wide and ${height} high.` : '';
  const actions = `${firstActions}${isFirst ? '' : ` ${laterActions}`}${zooms ? ' zoom' : ''}`.split(' ');
  return {
    description: `Controls a screen, its mouse and its keyboard.${size} Take a screenshot to see what an action did.`,
    input_schema: closedObject(
      {
        action: oneOf(actions),
        coordinate: integers(2, 'Of the mouse: pixels from the left and from the top.'),
        text: textInput('What to type, or for key and hold_key the keys, such as ctrl+s or Return.'),
        ...(!isFirst && {
          start_coordinate: integers(2, 'For left_click_drag: where it starts.'),
          scroll_direction: oneOf(['up', 'down', 'left', 'right']),
          scroll_amount: integerInput('For scroll: the clicks of the wheel.'),
          duration: { type: 'number', description: 'For hold_key and wait: seconds.' },
        }),
        ...(zooms && { region: integers(4, 'For zoom: left, top, right and bottom.') }),
      },
      ['action'],
    ),
  };
}

const families = {
  bash: () => bash,
  text_editor: (_tool: MessagesTool, version: string) => (version <= '20250124' ? olderEditor : editor),
  memory: () => memory,
  computer,
};
