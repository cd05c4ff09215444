import type { IncomingMessage } from 'node:http';
import type { JsonObject } from '../../apimachinery/json.ts';
import type { User } from '../authentication/users.ts';

/** Levels of audit events, from the smallest on. */
export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;

/** How much of a request its audit events hold: nothing, who did what, also the sent object, also the answer. */
export type AuditLevel = (typeof auditLevels)[number];

/** The audit event of a request in progress. */
export interface AuditRecord {
  /** Adds an annotation; with a level only to events of at least that level. */
  annotate(key: string, value: string, least?: AuditLevel): void;
  /** Records the impersonated user. */
  impersonates(user: User): void;
  /** Records the object of the request's body: its name, UID and version, as far as it has them; at the level Request the whole object. */
  about(object: JsonObject, type: { readonly apiVersion: string; readonly kind: string }): void;
  /** Records the body of a patch; `read` is called at the level Request. */
  patches(read: () => unknown): void;
  /** Records the body of the answer: of a Status its result, at the level RequestResponse the whole body. */
  answers(body: unknown): void;
  /** Whether the whole answer is recorded. */
  readonly wantsAnswer: boolean;
}

const records = new WeakMap<IncomingMessage, AuditRecord>();

/** Returns the audit event of a request in progress; absent where nothing is recorded. */
export const auditOf = (request: IncomingMessage): AuditRecord | undefined => records.get(request);

/** Makes an audit event the one of a request. */
export const keepAudit = (request: IncomingMessage, record: AuditRecord): void => {
  records.set(request, record);
};
