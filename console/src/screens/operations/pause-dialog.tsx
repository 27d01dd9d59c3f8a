import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { pausesQuery, queueQuery } from '../../api/operations.ts';
import { orgsQuery } from '../../api/orgs.ts';
import { ActionError } from '../../parts/action-error.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';

const form = 'pause-batches';

/** Asks which batches to pause, and pauses them. */
export function PauseDialog({ onClose }: { onClose: () => void }) {
  const [model, setModel] = useState('');
  const [org, setOrg] = useState('');
  const { data: models = [] } = useQuery(queueQuery);
  const { data: orgs = [] } = useQuery(orgsQuery);
  const queries = useQueryClient();
  const pause = useMutation({
    mutationFn: () => bodyOf(api.POST('/v1/admin/pause', { body: scopeOf(model, org) })),
    onSuccess({ data }) {
      queries.setQueryData(pausesQuery.queryKey, data);
      onClose();
    },
  });

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (!pause.isPending) pause.mutate();
  }

  return (
    <Dialog
      title="Pause batches"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" form={form} isBusy={pause.isPending}>
            {model === '' && org === '' ? 'Pause all batches' : 'Pause these batches'}
          </Button>
        </>
      }
    >
      <p>
        Their requests in flight finish, and no further ones are sent until you resume them. Windows go on.
      </p>
      <form id={form} onSubmit={submit}>
        <Field label="Model">
          {(ids) => (
            <select {...ids} value={model} onChange={({ target }) => setModel(target.value)}>
              <option value="">All models</option>
              {models.map(({ model: name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Org">
          {(ids) => (
            <select {...ids} value={org} onChange={({ target }) => setOrg(target.value)}>
              <option value="">All orgs</option>
              {orgs.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
      </form>
      <ActionError error={pause.error} />
    </Dialog>
  );
}

function scopeOf(model: string, org: string) {
  if (model === '' && org === '') return { everything: true as const };
  return { ...(model !== '' && { model }), ...(org !== '' && { org }) };
}
