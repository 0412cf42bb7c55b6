/**
 * What HAProxy's own rules cannot say. `normalized_path` is normalizedPath of src/addons/ingress/routing/paths.ts for a
 * request. `drop_listed` removes the fields that Connection lists, which are of one connection (RFC 9110, 7.6.1), and an
 * upgrade to HTTP/2, which would be a tunnel past the rules.
 */
export const LUA = `
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
`;
