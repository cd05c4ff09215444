// A back-off of its own, judged over the protocol. `BROKEN=1`: it never grows.
import { createInterface } from 'node:readline';

let entries = new Map();
let settings;
let nowMs = 0;
const isExpired = (key, eventMs) =>
  eventMs - entries.get(key).updatedMs > (settings.kind === 'crashLoop' ? 600_000 : 2 * settings.maxMs);
const next = (key, eventMs) => {
  const entry = entries.get(key);
  const grown = entry && !isExpired(key, eventMs);
  const factor = process.argv.includes('--broken') ? 1 : 2;
  entries.set(key, {
    delayMs: grown ? Math.min(factor * entry.delayMs, settings.maxMs) : settings.initialMs,
    updatedMs: nowMs,
  });
};
const isBacked = (key, eventMs, from) =>
  entries.has(key) && !isExpired(key, eventMs) && from < entries.get(key).delayMs;

const operations = {
  next: ({ id, eventMs = 0 }) => next(id, eventMs),
  isInBackOffSince: ({ id, eventMs = 0 }) => ({ inBackOff: isBacked(id, eventMs, nowMs - eventMs) }),
  isInBackOffSinceUpdate: ({ id, eventMs = 0 }) => ({
    inBackOff: entries.has(id) && isBacked(id, eventMs, eventMs - entries.get(id).updatedMs),
  }),
  restartAttempt: ({ id, eventMs = 0 }) => {
    if (isBacked(id, eventMs, nowMs - eventMs))
      return { inBackOff: true, retryAtMs: eventMs + entries.get(id).delayMs };
    next(id, eventMs);
    return { inBackOff: false };
  },
  gc: () => {
    for (const [key, { updatedMs }] of entries)
      if (nowMs - updatedMs > 2 * settings.maxMs) entries.delete(key);
  },
  reset: ({ id }) => void entries.delete(id),
  get: () => undefined,
};

const answers = {
  hello: () => ({ families: ['backoff'] }),
  begin: ({ history }) => {
    entries = new Map();
    settings = history;
    return {};
  },
  step: ({ atMs, op }) => {
    nowMs = atMs;
    const answer = operations[op.op](op);
    const delayMs = Object.fromEntries(['k0', 'k1'].map((key) => [key, entries.get(key)?.delayMs ?? 0]));
    return { observed: { ...answer, delayMs } };
  },
  end: () => ({}),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { type, ...request } = JSON.parse(line);
  console.log(JSON.stringify(answers[type]?.(request) ?? { error: `no request ${type}` }));
}
