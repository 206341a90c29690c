"""The page in the browser: what `outlive ui` serves. No other call imports this room."""
