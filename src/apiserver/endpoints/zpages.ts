import type { ServerResponse } from 'node:http';
import { notAcceptable } from '../../apimachinery/status-error.ts';
import { acceptedForm, type ZPage, zpageObject, zpageTypes } from '../../kube/zpages.ts';
import type { ApiRequest } from '../request/request.ts';
import { negotiate, wantsPretty } from './negotiate.ts';
import { encode, sendText } from './respond.ts';

/**
 * Answers a page, for any method, as text or as a versioned object. Follows apiserver `handleFlagz` and `handleStatusz`.
 *
 * @throws {StatusError} 406
 */
export async function sendZPage(
  { raw, query }: ApiRequest,
  response: ServerResponse,
  page: ZPage,
): Promise<void> {
  const form = acceptedForm(raw.headers.accept ?? '', page.kind, zpageTypes);
  if (!form) throw notAcceptable(zpageTypes);
  if (form.version === undefined)
    return sendText(raw, response, { status: 200, type: 'text/plain; charset=utf-8', text: page.text });
  const pretty = wantsPretty(query, raw.headers['user-agent']);
  const { contentType, object, warning } = zpageObject(page, form);
  await sendText(raw, response, {
    status: 200,
    type: contentType,
    text: encode(object, negotiate(form.type, { produces: false, pretty })),
    ...(warning !== undefined && { extras: { warnings: [warning] } }),
  });
}
