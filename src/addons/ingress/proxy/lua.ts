/** Longest time in which a Service decides about a request. */
const AUTH_MS = 5_000;

/**
 * Returns the Lua functions for rules that HAProxy's configuration cannot express. `normalized_path` is normalizedPath of
 * src/addons/ingress/routing/paths.ts for a request. `drop_listed` removes the fields that Connection lists, which belong to
 * one connection (RFC 9110, 7.6.1), and an upgrade to HTTP/2, which would be a tunnel past the rules. `auth_request` asks a
 * backend about a request, through the proxy's socket for that: 2xx lets it pass, 401, 403 and redirects go to the client,
 * and all else is 503. It asks with HEAD, so no answer has a body. Source: haproxy 3.0 Lua API, HTTPClient.
 */
export const luaOf = (authSocket: string): string => `
core.register_converters("normalized_path", function(path)
  return (path:gsub("%%(%x?%x?)", function(hex)
    if #hex < 2 then return "%25" .. hex end
    local character = string.char(tonumber(hex, 16))
    if character:match("[%w%-%._~]") then return character end
    return "%" .. hex:upper()
  end):gsub("[^%w%-%._~!$&'()*+,;=:@/%%]", function(other)
    return string.format("%%%02X", other:byte())
  end))
end)

local kept = { close = true, ["keep-alive"] = true, upgrade = true, te = true, host = true, [""] = true }
core.register_action("drop_listed", { "http-req" }, function(txn)
  local upgrades = false
  for _, line in pairs(txn.http:req_get_headers()["connection"] or {}) do
    for name in line:gmatch("[^,%s]+") do
      local lower = name:lower()
      if lower == "upgrade" then upgrades = true end
      if not kept[lower] and not lower:match("^content%-") and lower ~= "transfer-encoding" then
        txn.http:req_del_header(lower)
      end
    end
  end
  local protocol = (txn.http:req_get_headers()["upgrade"] or {})[0] or ""
  if upgrades and protocol ~= "" and not protocol:lower():match("h2") then
    txn.http:req_set_header("connection", "upgrade")
  else
    txn.http:req_del_header("connection")
    txn.http:req_del_header("upgrade")
  end
end)

-- Fields of one connection, or of the body, which is not sent to the service.
local unasked = {
  connection = true, upgrade = true, te = true, trailer = true, expect = true, host = true, range = true,
  ["content-length"] = true, ["transfer-encoding"] = true, ["content-type"] = true, ["content-encoding"] = true,
  ["if-match"] = true, ["if-none-match"] = true, ["if-modified-since"] = true, ["if-unmodified-since"] = true,
  ["if-range"] = true, ["x-original-method"] = true, ["x-original-uri"] = true, ["x-matryoshka-backend"] = true,
}
local shown = { "location", "set-cookie", "www-authenticate" }

local function listed(values)
  local list = {}
  for _, value in pairs(values or {}) do list[#list + 1] = value end
  return list
end

core.register_action("auth_request", { "http-req" }, function(txn, backend, host, path, names)
  local asked = {}
  for name, values in pairs(txn.http:req_get_headers()) do
    if not unasked[name] then asked[name] = listed(values) end
  end
  asked["x-matryoshka-backend"] = { backend }
  asked["x-original-method"] = { txn.sf:method() }
  asked["x-original-uri"] = { txn.sf:url() }
  local answer = core.httpclient():head{
    url = "http://" .. host .. path, dst = "unix@${authSocket}", headers = asked, timeout = ${AUTH_MS},
  }
  local status = answer and answer.status or 0
  if status >= 200 and status < 300 then
    if names ~= "-" then
      for name in names:gmatch("[^,]+") do
        txn.http:req_del_header(name)
        for _, value in ipairs(listed(answer.headers[name])) do txn.http:req_add_header(name, value) end
      end
    end
    return
  end
  local reply = txn:reply{ status = 503, reason = "Service Unavailable" }
  if status == 401 or status == 403 or (status >= 301 and status <= 308) then
    reply = txn:reply{ status = status }
    for _, name in ipairs(shown) do
      for _, value in ipairs(listed(answer.headers[name])) do reply:add_header(name, value) end
    end
  end
  txn:done(reply)
end, 4)
`;
