import { isObject, type JsonObject } from '../../apimachinery/json.ts';
import type { KubeObject } from '../types.ts';
import type { AdmissionRequest } from './review.ts';

/** The text of the reviews that requests come from: a handler may have written to the request's object. */
const texts = new WeakMap<AdmissionRequest, string>();

/** Records the text of the review that a request comes from. */
export const keepPristine = (request: AdmissionRequest, text: string): void => void texts.set(request, text);

export const isPristine = (value: object): boolean => texts.has(value as AdmissionRequest);

/** Returns the object of a request as it was received. */
export function pristineObject(request: AdmissionRequest): KubeObject | undefined {
  const text = texts.get(request);
  if (text === undefined) return request.object;
  const { request: received } = JSON.parse(text) as { readonly request: JsonObject };
  return isObject(received['object']) ? received['object'] : undefined;
}
