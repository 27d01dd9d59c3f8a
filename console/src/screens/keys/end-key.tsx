import { api, bodyOf } from '../../api/client.ts';
import { FormDialog } from './form-dialog.tsx';
import { type Key, useChange } from './queries.ts';

export type Ending = 'disable' | 'enable' | 'revoke';

interface EndKeyProps {
  keyToEnd: Key;
  ending: Ending;
  onClose: () => void;
}

const texts = {
  disable: {
    action: 'Disable key',
    text: 'Requests with this key are rejected within a second, until it is enabled again. Its batches go on.',
  },
  enable: { action: 'Enable key', text: 'The key works again within a second.' },
  revoke: {
    action: 'Revoke key',
    text: 'The key stops working within a second and cannot be enabled again. Its unfinished batches continue; cancel them to stop them.',
  },
} as const;

/** Asks before a key is disabled, enabled or revoked. */
export function EndKey({ keyToEnd: key, ending, onClose }: EndKeyProps) {
  const params = { path: { key_id: key.id } };
  const end = useChange(() =>
    ending === 'revoke'
      ? bodyOf(api.DELETE('/v1/admin/keys/{key_id}', { params }))
      : bodyOf(api.PATCH('/v1/admin/keys/{key_id}', { params, body: { disabled: ending === 'disable' } })),
  );
  const { action, text } = texts[ending];
  return (
    <FormDialog
      title={`${action}: ${key.name || key.id}`}
      action={action}
      kind={ending === 'enable' ? 'primary' : 'danger'}
      isBusy={end.isPending}
      error={end.error}
      onSubmit={() => end.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>{text}</p>
    </FormDialog>
  );
}
