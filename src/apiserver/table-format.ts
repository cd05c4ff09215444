/** A column as a Table declares it. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

const told = 'shown by kubectl get';

export const column = (name: string, priority = 0, type = 'string', format = ''): Column => ({
  name,
  type,
  format: name === 'Name' ? 'name' : format,
  description: `${name}: ${told}`,
  priority,
});

/** A span as kubectl prints ages: `5s`, `3m20s`, `4d`, `2y30d`. */
export function age(ms: number): string {
  const total = Math.floor(ms / 1000);
  if (total < -1) return '<invalid>';
  if (total < 0) return '0s';
  const [s, m, h, d] = [total, Math.floor(total / 60), Math.floor(total / 3600), Math.floor(total / 86_400)];
  if (s < 120) return `${s}s`;
  if (m < 10) return s % 60 === 0 ? `${m}m` : `${m}m${s % 60}s`;
  if (m < 180) return `${m}m`;
  if (h < 8) return m % 60 === 0 ? `${h}h` : `${h}h${m % 60}m`;
  if (h < 48) return `${h}h`;
  if (h < 192) return h % 24 === 0 ? `${d}d` : `${d}d${h % 24}h`;
  if (d < 365 * 2) return `${d}d`;
  if (d < 365 * 8) return d % 365 === 0 ? `${Math.floor(d / 365)}y` : `${Math.floor(d / 365)}y${d % 365}d`;
  return `${Math.floor(d / 365)}y`;
}

export const ageOf = (text: unknown, now: number): string =>
  typeof text === 'string' ? age(now - Date.parse(text)) : '<unknown>';
