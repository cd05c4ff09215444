import { goQuote } from '../../go/go-quote.ts';
import { findJsonFault } from '../../go/json-fault.ts';
import { isObject, type JsonObject, stringAt } from '../../apimachinery/json.ts';
import { serverReasons, StatusError } from '../../apimachinery/status-error.ts';

/** An answer of a webhook. */
export interface WebhookAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};

const isText = (type: string): boolean => type === '' || type.trim().toLowerCase().startsWith('text/');

/** Returns the error of an answer that is no success. Follows client-go `transformResponse` and apimachinery `NewGenericServerResponse`. */
export function failedAnswer({ status, type, text }: WebhookAnswer): StatusError {
  const body = parsed(text);
  if (isObject(body) && body['kind'] === 'Status' && body['status'] !== 'Success')
    return new StatusError(status, stringAt(body, 'reason'), stringAt(body, 'message') || 'unknown');
  const shown = isText(type) ? text.trim() : 'unknown';
  if (status === 403) return new StatusError(status, 'Forbidden', shown);
  const found = serverReasons[status];
  if (found) return new StatusError(status, ...found);
  return status >= 500
    ? new StatusError(
        status,
        'InternalError',
        `an error on the server (${goQuote(shown)}) has prevented the request from succeeding`,
      )
    : new StatusError(
        status,
        'Unknown',
        `the server responded with the status code ${status} but did not return more information`,
      );
}

/** Returns the object of a successful answer. @throws {Error} in the words of Go's decoder */
export function objectOf({ text }: WebhookAnswer): JsonObject {
  const body = parsed(text);
  if (body === undefined)
    throw new Error(`couldn't get version/kind; json parse error: ${findJsonFault(text).message}`);
  if (!isObject(body))
    throw new Error(`couldn't get version/kind; json parse error: the answer is no object`);
  for (const [key, member] of [
    ['kind', 'Kind'],
    ['apiVersion', 'apiVersion'],
  ] as const)
    if (stringAt(body, key) === '') throw new Error(`Object '${member}' is missing in '${text.trim()}'`);
  return body;
}
