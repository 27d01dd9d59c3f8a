export type Shortcut = 'palette' | 'help' | 'search' | 'rows' | 'pause';

/** Meaning of a key press outside of tables and dialogs; undefined for a key that is typed into a field, or means nothing. */
export function shortcutOf(
  event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>,
  isTyping: boolean,
): Shortcut | undefined {
  const hasModifier = event.ctrlKey || event.metaKey;
  if (event.altKey) return undefined;
  if (hasModifier) return event.key.toLowerCase() === 'k' ? 'palette' : undefined;
  if (isTyping) return undefined;
  if (event.key === '?') return 'help';
  if (event.key === '/') return 'search';
  if (event.key === 'p') return 'pause';
  return event.key === 'j' || event.key === 'k' ? 'rows' : undefined;
}

/** True where a key press belongs to the element: fields take text, and open lists take letters. */
export function isTypingInto(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.closest('textarea, select, [role="menu"]') !== null ||
      isTextField(target))
  );
}

function isTextField(target: HTMLElement): boolean {
  return (
    target instanceof HTMLInputElement && !['checkbox', 'radio', 'button', 'submit'].includes(target.type)
  );
}
