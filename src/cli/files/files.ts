import { group, one } from '../shared/commands.ts';
import { filesContent } from './content.ts';
import { filesList } from './list.ts';
import { showFile } from './show-file.ts';
import { filesUpload } from './upload.ts';
import { filesValidate } from './validate.ts';

const get = one({
  name: 'get',
  about: 'show a file',
  example: 'file-0199f3a2',
  ask: ({ files: remote }, id) => remote.get(id),
  show: showFile,
});

const remove = one({
  name: 'delete',
  about: 'delete a file',
  example: 'file-0199f3a2',
  ask: ({ files: remote }, id) => remote.remove(id),
  show: ({ id }, terminal) => terminal.print(`Deleted ${id}.`),
});

export const files = group('files', [filesUpload, filesList, get, filesContent, remove, filesValidate]);
