import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../api/client.ts';
import { type Replica, showReplica } from '../../api/operations.ts';
import { ActionError } from '../../parts/action-error.tsx';
import { Button } from '../../parts/button.tsx';
import type { Column } from '../../parts/column.ts';
import { count, exactTime, toMs } from '../../parts/format.ts';
import css from './cap.module.css';

/** Cap of an operator, else the slots that the configuration fixes. */
export const capColumn: Column<Replica> = {
  id: 'cap',
  header: 'Cap',
  width: 80,
  align: 'end',
  cell: CapText,
};

/** The same with a field that sets, changes and removes the cap. */
export const editableCapColumn: Column<Replica> = {
  ...capColumn,
  width: 122,
  cell: (row) => <Cap {...row} />,
};

function CapText({ cap, capped_at: at, capped_by: by, configured }: Replica) {
  if (cap !== null && at !== null)
    return <span title={`Set ${exactTime(toMs(at))} by ${by}`}>{count(cap)}</span>;
  return configured === null ? (
    <span title="The server reports its slots, or they are found under load">None</span>
  ) : (
    <span title="Slots that the configuration fixes">{count(configured)}</span>
  );
}

/** Cap with a button that makes it a field: a number and Enter set it, an empty field removes it, Escape leaves it. */
function Cap(replica: Replica) {
  const { id, server, cap } = replica;
  const [draft, setDraft] = useState<string>();
  const queries = useQueryClient();
  const params = { path: { replica_id: id } };
  const { mutate, error, isPending, reset } = useMutation({
    mutationFn: (next: number | null) =>
      next === null
        ? bodyOf(api.POST('/v1/admin/replicas/{replica_id}/uncap', { params }))
        : bodyOf(api.POST('/v1/admin/replicas/{replica_id}/cap', { params, body: { max_in_flight: next } })),
    onSuccess(changed) {
      setDraft(undefined);
      showReplica(queries, changed);
    },
  });
  const leave = () => {
    setDraft(undefined);
    reset();
  };
  if (draft === undefined)
    return (
      <span className={css.cap}>
        <CapText {...replica} />
        <Button
          kind="quiet"
          aria-label={`Change the cap of ${server}`}
          onClick={() => setDraft(cap === null ? '' : String(cap))}
        >
          Change
        </Button>
      </span>
    );
  return (
    <form
      className={css.cap}
      onSubmit={(event) => {
        event.preventDefault();
        mutate(draft === '' ? null : Number(draft));
      }}
      onKeyDown={({ key }) => key === 'Escape' && leave()}
    >
      <ActionError error={error} />
      <input
        type="number"
        min={1}
        max={100_000}
        autoFocus
        aria-label={`Most requests in flight at ${server}`}
        placeholder="None"
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
      />
      <Button type="submit" isBusy={isPending}>
        Set
      </Button>
    </form>
  );
}
